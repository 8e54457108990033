package node_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/move"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// A move whose job cannot save ends with the job's reason, and the job runs on where it is. The reasons are those of the shim and of
// the coordinator's signals on real volumes: growth/shim/tests/test_saves.py and coordinator/internal/signalsave cause them.
func TestNode_MoveEndsWithTheReasonOfTheJob(t *testing.T) {
	const full = "the volume is full: free space on it, or request a larger one"
	const readOnly = "the volume is mounted read-only: mount a writable one at the path of the checkpoint"
	for name, tc := range map[string]struct {
		signal bool
		fault  func(w *harness)
		why    string
	}{
		"shim: full disk": {false, func(w *harness) { w.failed("a", full+" (OSError: No space left on device)") }, "the job did not save: " + full},
		"shim: short write": {false, func(w *harness) {
			w.failed("a", "the file is larger than the limit of the process (ulimit -f): raise it")
		}, "the job did not save: the file is larger"},
		"shim: read-only volume": {false, func(w *harness) { w.failed("a", readOnly) }, "the job did not save: " + readOnly},
		"shim: its process ends": {false, func(w *harness) { w.step(node.ProcessLeft{Slot: "slot-a"}) }, "the job did not save: its processes ended"},
		"shim: no answer":        {false, func(w *harness) { w.pass(2*time.Minute + interval) }, "the job did not save within 2m0s"},

		"signal: full disk":        {true, func(w *harness) { w.answers("a", full+" (/ckpt/job.pt may be cut off)") }, "the job did not save: " + full},
		"signal: read-only volume": {true, func(w *harness) { w.answers("a", readOnly) }, "the job did not save: " + readOnly},
		"signal: its process ends": {true, func(w *harness) { w.answers("a", "its process sh ended after SIGUSR1") }, "the job did not save: its process sh ended"},
		"signal: no answer":        {true, func(w *harness) { w.pass(2*time.Minute + interval) }, "the job did not save within 2m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, policy.Harmless, func(t *testing.T, w *harness) {
				if tc.signal {
					w.bySignal("a")
				} else {
					w.arrive("a")
					w.train(0, 2, map[string]func(int) float64{"a": falling})
				}
				record := move.Record{ID: "move-1", Old: ref("a").UID, State: move.Saving, Since: w.now}
				require.True(t, record.Wants().Hold)
				w.change("a", func(pod *node.Pod) {
					pod.Annotations[gpushare.SaveAnnotation] = record.ID
					pod.Annotations[gpushare.PausedAnnotation] = "true"
				})
				if !tc.signal {
					w.stops("a", 3)
				}
				tc.fault(w)

				seen := move.Seen{Old: &move.Pod{UID: ref("a").UID}}
				if answer, err := gpushare.ParseSaved(w.annotated["a"][gpushare.SavedAnnotation]); err == nil {
					require.Equal(t, record.ID, answer.Request)
					seen.SaveFailed = answer.Failed
				}
				record, _ = move.DefaultLimits().Next(record, seen, w.now)
				require.Equal(t, move.Aborted, record.State)
				require.True(t, strings.HasPrefix(record.Why, tc.why), record.Why)
				require.Equal(t, move.Wants{}, record.Wants(), "nothing holds the job any more")
				w.change("a", func(pod *node.Pod) { // as the mover does then
					delete(pod.Annotations, gpushare.SaveAnnotation)
					delete(pod.Annotations, gpushare.PausedAnnotation)
				})
				require.False(t, w.stopped["slot-a"].Stop)
				require.Empty(t, w.sample("a").Paused)
				require.Len(t, w.node.Jobs(), 1)
			})
		})
	}
}
