package reservations_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/extender/internal/clustertest"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/extender/internal/reservations"
	"github.com/trellis-gpu/trellis/extender/internal/scheduler"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

const each = 4 * growth.GiB // of both GPUs

// held is where each pod is, in the sequential specification: what reservations would be if one hand made them one after
// the other.
type held map[growth.PodUID]growth.GPUShare

// call is what a client does: reserve for a pod, release it, or read them all.
type call struct {
	do  string
	pod growth.PodUID
}

// answer is what comes back: where the pod is, or all there are. A pod that found no room has no share: the room may have
// gone while it was looking, so that this is always right.
type answer struct {
	share growth.GPUShare
	all   held
}

// books is the specification: a reservation is made only where it fits, is seen from then on, and until it is released.
var books = porcupine.Model{
	Init: func() any { return held{} },
	Step: func(state, input, output any) (bool, any) {
		before, asked, told := state.(held), input.(call), output.(answer)
		after := maps.Clone(before)
		switch asked.do {
		case "read":
			return maps.Equal(before, told.all), before
		case "release":
			delete(after, asked.pod)
			return true, after
		}
		if told.share.GPU == "" {
			return true, before
		}
		used := told.share.Memory
		for _, share := range before {
			if share.GPU == told.share.GPU {
				used += share.Memory
			}
		}
		after[asked.pod] = told.share
		return used <= each, after
	},
	Equal: func(a, b any) bool { return maps.Equal(a.(held), b.(held)) },
	DescribeOperation: func(input, output any) string {
		return fmt.Sprintf("%v -> %v", input, output)
	},
}

// blind takes the guards off what it writes.
type blind struct{ bus.Bus }

func (b blind) Commit(ctx context.Context, writes []bus.Write, _ ...bus.Guard) (bus.Revision, error) {
	return b.Bus.Commit(ctx, writes)
}

// TestReservationsAreLinearizable has six clients of three replicas reserve, release and read on one node of a real etcd,
// and looks for an order of one after the other that explains every answer.
func TestReservationsAreLinearizable(t *testing.T) {
	for name, tc := range map[string]struct {
		wrap func(bus.Bus) reservations.Bus
		want porcupine.CheckResult
	}{
		"as they are":              {func(b bus.Bus) reservations.Bus { return b }, porcupine.Ok},
		"without compare-and-swap": {func(b bus.Bus) reservations.Bus { return blind{b} }, porcupine.Illegal},
	} {
		t.Run(name, func(t *testing.T) {
			etcd := clustertest.NewEtcd(t)
			c := clustertest.On(t, etcd.Open)
			c.Node("n", each/growth.GiB, each/growth.GiB)
			var deciders []*scheduler.Decider
			for range 3 {
				r := newReplica(c)
				r.decider.Ledger = reservations.Ledger{Bus: tc.wrap(etcd.Open()), Unbalanced: func() { t.Error("unbalanced") }}
				deciders = append(deciders, r.decider)
				require.Eventually(t, func() bool {
					s := r.keeper.Snapshot()
					return s.Synced && s.Node("n") != nil && s.Node("n").Obstacle == ""
				}, 30*time.Second, 10*time.Millisecond)
			}
			history := recorded(t, deciders, 60)
			result := porcupine.CheckOperationsTimeout(books, history, 20*time.Second)
			require.Equal(t, tc.want, result, "%d operations", len(history))
			t.Logf("%d operations, %s", len(history), result)
		})
	}
}

// recorded has two clients of each replica make calls, and returns what they saw.
func recorded(t *testing.T, deciders []*scheduler.Decider, calls int) []porcupine.Operation {
	t.Helper()
	var (
		mu      sync.Mutex
		history []porcupine.Operation
		clients sync.WaitGroup
		start   = time.Now()
	)
	for client := range 2 * len(deciders) {
		d, dice := deciders[client/2], rand.New(rand.NewPCG(uint64(client), 1))
		clients.Go(func() {
			mine := map[growth.PodUID]bus.Revision{}
			for n := range calls {
				op := porcupine.Operation{ClientId: client, Call: int64(time.Since(start))}
				op.Input, op.Output = once(t, d, dice, fmt.Sprintf("p%d-%d", client, n), mine)
				op.Return = int64(time.Since(start))
				mu.Lock()
				history = append(history, op)
				mu.Unlock()
			}
		})
	}
	clients.Wait()
	return history
}

// once makes one call. mine are the client's own reservations.
func once(t *testing.T, d *scheduler.Decider, dice *rand.Rand, name string, mine map[growth.PodUID]bus.Revision) (call, answer) {
	ctx := context.WithoutCancel(t.Context())
	roll := dice.IntN(10)
	if roll < 2 {
		read, _, err := d.Ledger.Read(ctx, "n")
		if err != nil {
			t.Errorf("reading: %v", err)
			return call{do: "read"}, answer{}
		}
		all := held{}
		for uid, r := range read.Reservations {
			all[uid] = r.GPUs[0]
		}
		return call{do: "read"}, answer{all: all}
	}
	for uid, revision := range mine {
		if roll >= 5 && len(mine) < 2 {
			break
		}
		delete(mine, uid)
		if err := d.Ledger.Release(ctx, "n", growth.PodRef{UID: uid}, revision); err != nil {
			t.Errorf("releasing: %v", err)
		}
		return call{do: "release", pod: uid}, answer{}
	}
	memory := 1 + dice.IntN(3)
	pod, _ := request.Read(clustertest.Pod(name, fmt.Sprintf("%dGi", memory), memory), gpushare.Resource)
	made, revision, err := d.Reserve(ctx, pod, "n")
	asked := call{do: "reserve", pod: pod.Ref.UID}
	switch {
	case errors.Is(err, scheduler.ErrNoRoom), errors.Is(err, scheduler.ErrOvertaken):
		return asked, answer{}
	case err != nil:
		t.Errorf("reserving: %v", err)
		return asked, answer{}
	}
	mine[pod.Ref.UID] = revision
	return asked, answer{share: made.GPUs[0]}
}
