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
	// Ours and Null are the medians of each round, Ratios their quotients.
	Ours, Null, Ratios []float64
	// Tail is p99 over p50 of our requests in the turns that count, NullTail that of the null extender. AllTail and
	// AllNullTail include all attempts.
	Tail, NullTail, AllTail, AllNullTail float64
	// Stolen is the part of the machine's time that the hypervisor took in each of our turns that count. Aside is the
	// part of one core that the API server and its etcd used. Both are in per cent.
	Stolen, Aside []float64
	// Taken is the number of our attempts.
	Taken int
}

// service measures each number of nodes on a new control plane.
func (b *bench) service(ctx context.Context) error {
	for _, w := range b.scale.services {
		if err := b.on(func(ctx context.Context, p *plane) error { return b.serviceAt(ctx, p, w) })(ctx); err != nil {
			return fmt.Errorf("%d nodes: %w", w.nodes, err)
		}
	}
	return nil
}

// serviceAt measures one number of nodes at 0, 50 and 95 per cent.
func (b *bench) serviceAt(ctx context.Context, p *plane, w serviceSize) error {
	null, err := b.null(p)
	if err != nil {
		return err
	}
	defer null.stop()
	if err := null.wait(ctx); err != nil {
		return err
	}
	on, err := openBus(ctx, p.stock, b.dir)
	if err != nil {
		return err
	}
	defer on.close()
	f := newFleet(b.Seed)
	if err := announce(ctx, on, f.grow(w.nodes)); err != nil {
		return err
	}
	for _, full := range []float64{0, 0.5, 0.95} {
		jobs := f.fill(full)
		// The pods exist as well: the extender investigates an allocation without a pod, and thousands of those are
		// unrealistic.
		if err := p.bound(ctx, jobs); err != nil {
			return err
		}
		if err := occupy(ctx, on, jobs); err != nil {
			return err
		}
		measured := Service{Nodes: w.nodes, Full: full}
		if err := b.serveIn(ctx, p, on, f, null, w.questions, &measured); err != nil {
			return err
		}
		b.out.Service = append(b.out.Service, measured)
	}
	return nil
}

// serveIn measures a new extender, which starts with the present state.
func (b *bench) serveIn(ctx context.Context, p *plane, on *bus, f *fleet, null contestant, questions int, into *Service) error {
	ours, err := b.ours(p, on, "growth")
	if err != nil {
		return err
	}
	defer ours.stop()
	if err := ours.wait(ctx); err != nil {
		return err
	}
	if err := seen(ctx, ours, f); err != nil {
		return err
	}
	if err := rested(ctx, func() time.Duration { return p.cpu() + on.etcd.cpu() + ours.cpu() }); err != nil {
		return err
	}
	if sleep, err := awake(); err == nil {
		defer sleep()
	} else {
		b.say("processors may sleep between requests; only root can prevent it: %v", err)
	}
	return b.serve(ctx, p, on, f, []contestant{ours, null}, questions, into)
}

// serve sends requests to both extenders, in turns, while allocations change.
func (b *bench) serve(ctx context.Context, p *plane, on *bus, f *fleet, both []contestant, asked int, into *Service) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changing := make(chan error, 1)
	go func() { changing <- churn(ctx, on, f) }()
	names, q := named(f.nodes), &questions{dice: rand.New(rand.NewPCG(b.Seed, 1))}
	askers := []*asker{newAsker(both[0].url), newAsker(both[1].url)}
	counted, all := make([][]turn, len(both)), make([][]turn, len(both))
	for round := -1; round < b.scale.rounds; round++ { // the first round is a warm-up
		for _, who := range interleaved(len(both), round+1) {
			calmest, tries, err := b.calmest(ctx, func() (turn, error) {
				bodies, err := q.aboutEach(names, asked)
				if err != nil {
					return turn{}, err
				}
				return watched(p.cpu, func() (times, error) { return askAll(ctx, askers[who], bodies) })
			})
			if err != nil {
				return err
			}
			if round >= 0 {
				counted[who], all[who] = append(counted[who], calmest), append(all[who], tries...)
			}
		}
		if round%10 == 9 {
			b.say("%d nodes, %.0f %% full: %d of %d rounds, with %d of our turns", into.Nodes, 100*into.Full, round+1, b.scale.rounds, len(all[0]))
		}
	}
	into.conclude(counted, all)
	cancel()
	return <-changing
}

// conclude computes the figures of the turns that count, and of all attempts.
func (s *Service) conclude(counted, all [][]turn) {
	medians := func(turns []turn) (all []float64) {
		for _, t := range turns {
			all = append(all, milliseconds(t.took.quantile(0.5)))
		}
		return all
	}
	s.Ours, s.Null = medians(counted[0]), medians(counted[1])
	s.Ratios, s.Taken = ratios(s.Ours, s.Null), len(all[0])
	s.Tail, s.NullTail = taken(counted[0]).tail(), taken(counted[1]).tail()
	s.AllTail, s.AllNullTail = taken(all[0]).tail(), taken(all[1]).tail()
	for _, t := range counted[0] {
		s.Stolen, s.Aside = append(s.Stolen, t.stolen), append(s.Aside, 100*t.aside)
	}
}

// churnEvery is the interval of changes while service times are taken: that of bindings by a busy scheduler.
const churnEvery = 25 * time.Millisecond

// churn writes and deletes a small allocation, until ctx ends.
func churn(ctx context.Context, on *bus, f *fleet) error {
	dice, tick := rand.New(rand.NewPCG(99, 0)), time.NewTicker(churnEvery)
	defer tick.Stop()
	last, whole := "", context.WithoutCancel(ctx) // complete the change: it leaves nothing behind
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			if last == "" {
				return nil
			}
			return on.Delete(whole, last)
		case <-tick.C:
		}
		var err error
		if last != "" {
			err, last = on.Delete(whole, last), ""
		} else {
			node := f.nodes[dice.IntN(len(f.nodes))]
			o := occupant{uid: growth.PodUID(fmt.Sprint("churn-", i)), name: fmt.Sprint("churn-", i), node: growth.NodeName(node), gpu: gpuOf(node, i%gpusPerNode), size: growth.GiB}
			var value []byte
			if value, err = state.Encode(allocated(o)); err == nil {
				last = state.AllocationKey(o.node, o.uid)
				_, err = on.Put(whole, last, value, state.Persistent)
			}
		}
		if err != nil {
			return fmt.Errorf("changing allocations: %w", err)
		}
	}
}
