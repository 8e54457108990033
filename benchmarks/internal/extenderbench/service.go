package extenderbench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	state "github.com/trellis-gpu/trellis/growth/bus"
)

// Service is the time of filter + prioritize for one pod, in milliseconds, at one number of nodes.
type Service struct {
	Nodes int     `json:"nodes"`
	Full  float64 `json:"full"`
	// Ours and Null are the medians of each round, for the extender and the null extender. Ratios are Ours over Null.
	Ours, Null, Ratios []float64
	// Tail is p99 over p50 of the extender's requests in the turns that count, NullTail that of the null extender.
	// AllTail and AllNullTail include all attempts.
	Tail, NullTail, AllTail, AllNullTail float64
	// Stolen is the part of the machine's time that the hypervisor took in each of the extender's turns that count. Aside
	// is the part of one core that the API server and its etcd used. Both are in per cent.
	Stolen, Aside []float64
	// Taken is the number of attempts with the extender.
	Taken int
}

// service measures each number of nodes on a new control plane.
func (b *bench) service(ctx context.Context) error {
	for _, w := range b.scale.services {
		if err := b.withControlPlane(func(ctx context.Context, p *plane) error { return b.serviceAt(ctx, p, w) })(ctx); err != nil {
			return fmt.Errorf("%d nodes: %w", w.nodes, err)
		}
	}
	return nil
}

// serviceAt measures one number of nodes, with 0, 50 and 95 per cent of the GPU memory allocated.
func (b *bench) serviceAt(ctx context.Context, p *plane, w serviceSize) error {
	null, err := b.startNullExtender(p)
	if err != nil {
		return err
	}
	defer null.stop()
	if err := null.wait(ctx); err != nil {
		return err
	}
	store, err := openBus(ctx, p.stock, b.dir)
	if err != nil {
		return err
	}
	defer store.close()
	f := newFleet(b.Seed)
	if err := publishInventories(ctx, store, f.grow(w.nodes)); err != nil {
		return err
	}
	for _, full := range []float64{0, 0.5, 0.95} {
		jobs := f.fill(full)
		// The pods exist too. Otherwise the extender would ask the API server about each allocation without a pod.
		if err := p.createBoundPods(ctx, jobs); err != nil {
			return err
		}
		if err := publishJobs(ctx, store, jobs); err != nil {
			return err
		}
		measured := Service{Nodes: w.nodes, Full: full}
		if err := b.measureExtender(ctx, p, store, f, null, w.pods, &measured); err != nil {
			return err
		}
		b.out.Service = append(b.out.Service, measured)
	}
	return nil
}

// measureExtender starts an extender in the current state of the cluster, and measures it and the null extender.
func (b *bench) measureExtender(ctx context.Context, p *plane, store *bus, f *fleet, null contestant, pods int, result *Service) error {
	ours, err := b.startExtender(p, store, "growth")
	if err != nil {
		return err
	}
	defer ours.stop()
	if err := ours.wait(ctx); err != nil {
		return err
	}
	if err := waitForAllocations(ctx, ours, f); err != nil {
		return err
	}
	if err := waitUntilIdle(ctx, func() time.Duration { return p.cpu() + store.etcd.cpu() + ours.cpu() }); err != nil {
		return err
	}
	if release, err := keepAwake(); err == nil {
		defer release()
	} else {
		b.say("processors may sleep between requests; only root can prevent it: %v", err)
	}
	return b.measureRounds(ctx, p, store, f, []contestant{ours, null}, pods, result)
}

// measureRounds sends requests to both extenders, in turns, while allocations change. A turn has filter and prioritize
// for each of pods.
func (b *bench) measureRounds(ctx context.Context, p *plane, store *bus, f *fleet, both []contestant, pods int, result *Service) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changing := make(chan error, 1)
	go func() { changing <- churn(ctx, store, f) }()
	names, q := encodeNames(f.nodes), &requests{random: rand.New(rand.NewPCG(b.Seed, 1))}
	clients := []*client{newClient(both[0].url), newClient(both[1].url)}
	counted, all := make([][]turn, len(both)), make([][]turn, len(both))
	for round := -1; round < b.scale.rounds; round++ { // the first round is a warm-up
		for _, index := range interleaved(len(both), round+1) {
			calmest, tries, err := b.calmest(ctx, func() (turn, error) {
				bodies, err := q.bodies(names, pods)
				if err != nil {
					return turn{}, err
				}
				return measureTurn(p.cpu, func() (times, error) { return sendAll(ctx, clients[index], bodies) })
			})
			if err != nil {
				return err
			}
			if round >= 0 {
				counted[index], all[index] = append(counted[index], calmest), append(all[index], tries...)
			}
		}
		if round%10 == 9 {
			b.say("%d nodes, %.0f %% full: %d of %d rounds, after %d turns of the extender", result.Nodes, 100*result.Full, round+1, b.scale.rounds, len(all[0]))
		}
	}
	result.conclude(counted, all)
	cancel()
	return <-changing
}

// conclude computes the figures from the turns that count and from all attempts. Index 0 is the extender, index 1 the
// null extender.
func (s *Service) conclude(counted, all [][]turn) {
	medians := func(turns []turn) (all []float64) {
		for _, t := range turns {
			all = append(all, milliseconds(t.took.quantile(0.5)))
		}
		return all
	}
	s.Ours, s.Null = medians(counted[0]), medians(counted[1])
	s.Ratios, s.Taken = ratios(s.Ours, s.Null), len(all[0])
	s.Tail, s.NullTail = allTimes(counted[0]).tail(), allTimes(counted[1]).tail()
	s.AllTail, s.AllNullTail = allTimes(all[0]).tail(), allTimes(all[1]).tail()
	for _, t := range counted[0] {
		s.Stolen, s.Aside = append(s.Stolen, t.stolen), append(s.Aside, 100*t.otherCPU)
	}
}

// churnEvery is the interval of changes while service times are measured: a busy scheduler binds as often.
const churnEvery = 25 * time.Millisecond

// churn writes and deletes a small allocation in turn, until ctx ends. It leaves none behind.
func churn(ctx context.Context, store *bus, f *fleet) error {
	random, tick := rand.New(rand.NewPCG(99, 0)), time.NewTicker(churnEvery)
	defer tick.Stop()
	last, uncancelled := "", context.WithoutCancel(ctx) // a change completes after ctx ends
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			if last == "" {
				return nil
			}
			return store.Delete(uncancelled, last)
		case <-tick.C:
		}
		var err error
		if last != "" {
			err, last = store.Delete(uncancelled, last), ""
		} else {
			node := f.nodes[random.IntN(len(f.nodes))]
			o := occupant{uid: growth.PodUID(fmt.Sprint("churn-", i)), name: fmt.Sprint("churn-", i), node: growth.NodeName(node), gpu: gpuOf(node, i%gpusPerNode), size: growth.GiB}
			var value []byte
			if value, err = state.Encode(allocationOf(o)); err == nil {
				last = state.AllocationKey(o.node, o.uid)
				_, err = store.Put(uncancelled, last, value, state.Persistent)
			}
		}
		if err != nil {
			return fmt.Errorf("changing allocations: %w", err)
		}
	}
}
