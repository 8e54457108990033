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

	"github.com/trellis-gpu/trellis/daemon/etcdbus/etcdtest"
	"github.com/trellis-gpu/trellis/extender/internal/clustertest"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/extender/internal/reservations"
	"github.com/trellis-gpu/trellis/extender/internal/scheduler"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

const each = 4 * growth.GiB // of both GPUs

// reserved is the state of the sequential specification: the share of each pod.
type reserved map[growth.PodUID]growth.GPUShare

// call is a call of a client: reserve for a pod, release its reservation, or read all.
type call struct {
	do  string
	pod growth.PodUID
}

// answer is the result of a call: the share of the pod, or all shares. A pod that found no room has no share. That is always
// correct, because the room may have been taken during the call.
type answer struct {
	share growth.GPUShare
	all   reserved
}

// specification is sequential: a reservation is written only if it fits, and is read until it is released.
var specification = porcupine.Model{
	Init: func() any { return reserved{} },
	Step: func(state, input, output any) (bool, any) {
		before, made, result := state.(reserved), input.(call), output.(answer)
		after := maps.Clone(before)
		switch made.do {
		case "read":
			return maps.Equal(before, result.all), before
		case "release":
			delete(after, made.pod)
			return true, after
		}
		if result.share.GPU == "" {
			return true, before
		}
		used := result.share.Memory
		for _, share := range before {
			if share.GPU == result.share.GPU {
				used += share.Memory
			}
		}
		after[made.pod] = result.share
		return used <= each, after
	},
	Equal: func(a, b any) bool { return maps.Equal(a.(reserved), b.(reserved)) },
	DescribeOperation: func(input, output any) string {
		return fmt.Sprintf("%v -> %v", input, output)
	},
}

// unguarded removes the guards of all writes.
type unguarded struct{ bus.Bus }

func (b unguarded) Commit(ctx context.Context, writes []bus.Write, _ ...bus.Guard) (bus.Revision, error) {
	return b.Bus.Commit(ctx, writes)
}

// TestStore_Linearizable lets six clients of three replicas reserve, release and read on one node of a real etcd, and looks
// for a sequential order that explains every answer.
func TestStore_Linearizable(t *testing.T) {
	for name, tc := range map[string]struct {
		wrap func(bus.Bus) reservations.Bus
		want porcupine.CheckResult
	}{
		"with guards":    {func(b bus.Bus) reservations.Bus { return b }, porcupine.Ok},
		"without guards": {func(b bus.Bus) reservations.Bus { return unguarded{b} }, porcupine.Illegal},
	} {
		t.Run(name, func(t *testing.T) {
			etcd := etcdtest.New(t)
			c := clustertest.On(t, func() bus.Bus { return etcd.Open(sessionTTL) })
			c.Node("n", each/growth.GiB, each/growth.GiB)
			var schedulers []*scheduler.Scheduler
			for range 3 {
				r := newReplica(c)
				r.scheduler.Store = reservations.Store{Bus: tc.wrap(etcd.Open(sessionTTL)), OverCommitted: func() { t.Error("over-committed") }}
				schedulers = append(schedulers, r.scheduler)
				require.Eventually(t, func() bool {
					s := r.cache.Snapshot()
					return s.Synced && s.Node("n") != nil && s.Node("n").Unschedulable == ""
				}, 30*time.Second, 10*time.Millisecond)
			}
			history := record(t, schedulers, 60)
			result := porcupine.CheckOperationsTimeout(specification, history, 20*time.Second)
			require.Equal(t, tc.want, result, "%d operations", len(history))
			t.Logf("%d operations, %s", len(history), result)
		})
	}
}

// record runs two clients of each replica, and returns their calls and answers.
func record(t *testing.T, schedulers []*scheduler.Scheduler, calls int) []porcupine.Operation {
	t.Helper()
	var (
		mu      sync.Mutex
		history []porcupine.Operation
		clients sync.WaitGroup
		start   = time.Now()
	)
	for client := range 2 * len(schedulers) {
		d, random := schedulers[client/2], rand.New(rand.NewPCG(uint64(client), 1))
		clients.Go(func() {
			mine := map[growth.PodUID]bus.Revision{}
			for n := range calls {
				op := porcupine.Operation{ClientId: client, Call: int64(time.Since(start))}
				op.Input, op.Output = callOnce(t, d, random, fmt.Sprintf("p%d-%d", client, n), mine)
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

// callOnce makes one call. mine are the client's own reservations.
func callOnce(t *testing.T, d *scheduler.Scheduler, random *rand.Rand, name string, mine map[growth.PodUID]bus.Revision) (call, answer) {
	ctx := context.WithoutCancel(t.Context())
	choice := random.IntN(10)
	if choice < 2 {
		read, _, err := d.Store.Read(ctx, "n")
		if err != nil {
			t.Errorf("reading: %v", err)
			return call{do: "read"}, answer{}
		}
		all := reserved{}
		for uid, r := range read.Reservations {
			all[uid] = r.GPUs[0]
		}
		return call{do: "read"}, answer{all: all}
	}
	for uid, revision := range mine {
		if choice >= 5 && len(mine) < 2 {
			break
		}
		delete(mine, uid)
		if err := d.Store.Release(ctx, "n", growth.PodRef{UID: uid}, revision); err != nil {
			t.Errorf("releasing: %v", err)
		}
		return call{do: "release", pod: uid}, answer{}
	}
	memory := 1 + random.IntN(3)
	pod, _ := request.Read(clustertest.Pod(name, fmt.Sprintf("%dGi", memory), memory), gpushare.Resource)
	reservation, revision, err := d.Reserve(ctx, pod, "n")
	made := call{do: "reserve", pod: pod.Ref.UID}
	switch {
	case errors.Is(err, scheduler.ErrNoRoom), errors.Is(err, scheduler.ErrOvertaken):
		return made, answer{}
	case err != nil:
		t.Errorf("reserving: %v", err)
		return made, answer{}
	}
	mine[pod.Ref.UID] = revision
	return made, answer{share: reservation.GPUs[0]}
}
