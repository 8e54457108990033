package mover_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/extender/internal/clustertest"
	"github.com/trellis-gpu/trellis/extender/internal/mover"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// Where jobs move by themselves, those that cannot save say once that they do not, and a few at a time.
func TestMover_ExplainsJobsThatCannotSave(t *testing.T) {
	for name, test := range map[string]struct {
		mode mover.Mode
		want [3]int // after each pass
	}{
		"automatic":  {mover.Automatic, [3]int{8, 10, 10}},
		"a dry run":  {mover.DryRun, [3]int{8, 10, 10}},
		"on request": {mover.Requested, [3]int{}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newHarness(t, test.mode)
				for i := range 10 {
					pod := clustertest.Pod(fmt.Sprintf("none-%d", i), "1Gi", 1)
					pod.Annotations[gpushare.CheckpointAnnotation] = string(gpushare.CheckpointNone)
					pod.Spec.NodeName = "a"
					pod.Status.Phase = corev1.PodRunning
					w.Create(pod)
				}
				w.Settle()
				for _, want := range test.want {
					require.NoError(t, w.mover.Pass(t.Context(), time.Now()))
					require.Equal(t, want, strings.Count(w.events(), "NeverMoves: The job is never moved, on request or without one, because"), w.events())
					time.Sleep(10 * time.Second)
				}
				require.NotContains(t, w.events(), "p: NeverMoves", "it can save")
			})
		})
	}
}
