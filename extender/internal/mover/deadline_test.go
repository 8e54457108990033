package mover

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// A move records the deadline of its job, so that the next pod has it.
func TestDeadlineOf(t *testing.T) {
	created := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		annotations map[string]string
		want        time.Time
	}{
		"none":       {},
		"a duration": {map[string]string{gpushare.DeadlineAnnotation: "6h"}, created.Add(6 * time.Hour)},
		"a time":     {map[string]string{gpushare.DeadlineAnnotation: "2026-05-02T02:00:00+02:00"}, created.Add(12 * time.Hour)},
		"an invalid value of another annotation": {
			map[string]string{gpushare.DeadlineAnnotation: "6h", gpushare.PriorityAnnotation: "20"}, time.Time{},
		},
	} {
		for kind, asks := range map[string]map[string]string{
			"memory by the annotation": {gpushare.MemoryAnnotation: "1Gi"},
			"memory by limits alone":   {},
		} {
			t.Run(name+", "+kind, func(t *testing.T) {
				maps.Copy(asks, tc.annotations)
				pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(created), Annotations: asks}}
				require.Equal(t, tc.want, deadlineOf(pod))
			})
		}
	}
}
