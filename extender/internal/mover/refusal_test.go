package mover

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/growth/gpushare"
)

func TestUnable(t *testing.T) {
	for name, tc := range map[string]struct{ annotation, value, want string }{
		"no other annotation": {},
		"paused":              {gpushare.PausedAnnotation, "true", "while it is paused"},
		"not paused":          {gpushare.PausedAnnotation, "false", ""},
		"it cannot save":      {gpushare.CheckpointAnnotation, "none", "it cannot save"},
		"an invalid value":    {gpushare.PriorityAnnotation, "20", "its annotations are invalid"},
	} {
		for kind, annotations := range map[string]map[string]string{
			"memory by the annotation": {gpushare.MemoryAnnotation: "1Gi"},
			"memory by limits alone":   {},
		} {
			t.Run(name+", "+kind, func(t *testing.T) {
				if tc.annotation != "" {
					annotations[tc.annotation] = tc.value
				}
				why := unable(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}})
				require.Contains(t, why, tc.want)
				require.Equal(t, tc.want == "", why == "")
			})
		}
	}
}
