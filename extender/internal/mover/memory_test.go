package mover_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/extender/internal/clustertest"
	"github.com/trellis-gpu/trellis/extender/internal/mover"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/move"
)

// Memory on the target is reserved while the job may come, and is released in every other state.
func TestMover_ReservesMemoryOnTheTarget(t *testing.T) {
	for _, state := range []move.State{move.Placed, move.Done, move.Aborted} {
		t.Run(string(state), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newHarness(t, mover.Requested)
				w.publish()
				record := bus.Move{Pod: clustertest.Ref(w.pods[0]), Move: move.Record{
					ID: "move-1", Old: "p-uid", From: "a", To: "b", State: move.Saving, Since: time.Now(), Began: time.Now(),
					Next: move.Successor{Namespace: "default", Owner: "o"}, Checkpoint: &move.Checkpoint{},
				}}
				pass := func(s move.State) map[growth.PodUID]bus.Reservation {
					record.Move.State = s
					clustertest.Record(w.Cluster, bus.MoveKey("p-uid"), record)
					require.NoError(t, w.mover.Pass(t.Context(), time.Now()))
					w.Settle()
					return w.Reservations("b")
				}
				reserved := pass(move.Saving)["p-uid"]
				require.True(t, reserved.Held)
				require.Equal(t, []growth.GPUShare{{GPU: "b-a", Memory: 4 * growth.GiB}}, reserved.GPUs)
				require.Empty(t, pass(state))
			})
		})
	}
}
