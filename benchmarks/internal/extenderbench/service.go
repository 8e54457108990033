package extenderbench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	state "github.com/trellis-gpu/trellis/growth/bus"
)

// Service is filter + prioritize for one pod, in milliseconds, in one world.
type Service struct {
	Nodes int     `json:"nodes"`
	Full  float64 `json:"full"`
	// Ours and Null are the medians of each round, Ratios one over the other.
	Ours, Null, Ratios []float64
	// Tail is p99 over p50 of our questions in all rounds, NullTail of the other's.
	Tail, NullTail float64
	// Stolen is which part of the machine's time its hypervisor gave to others meanwhile, in per cent.
	Stolen float64
	// Attempt is which measurement of this world it is.
	Attempt int
}

// service measures worlds of the sizes that are asked for, each on a control plane of its own.
func (b *bench) service(ctx context.Context) error {
	for _, nodes := range b.scale.serviceNodes {
		if err := b.on(func(ctx context.Context, p *plane) error { return b.serviceAt(ctx, p, nodes) })(ctx); err != nil {
			return fmt.Errorf("%d nodes: %w", nodes, err)
		}
	}
	return nil
}

// serviceAt measures one world at 0, 50 and 95 per cent.
func (b *bench) serviceAt(ctx context.Context, p *plane, nodes int) error {
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
	if err := announce(ctx, on, f.grow(nodes)); err != nil {
		return err
	}
	for _, full := range []float64{0, 0.5, 0.95} {
		jobs := f.fill(full)
		// Their pods as well: an allocation whose pod nobody knows is a thing to look into, and thousands of them are no cluster.
		if err := p.bound(ctx, jobs); err != nil {
			return err
		}
		if err := occupy(ctx, on, jobs); err != nil {
			return err
		}
		measured, err := b.calmest(func() (Service, error) {
			s := Service{Nodes: nodes, Full: full}
			err := b.serveIn(ctx, p, on, f, null, &s)
			return s, err
		})
		if err != nil {
			return err
		}
		b.out.Service = append(b.out.Service, measured)
	}
	return nil
}

// calm is the part of the machine's time, in per cent, that its hypervisor may give to others without a world being measured
// again.
const calm = 1

// calmest measures a world until the machine was calm meanwhile, Attempts times at most, and returns the calmest. It goes by what
// the hypervisor took alone, and never by what was answered.
func (b *bench) calmest(measure func() (Service, error)) (best Service, err error) {
	for attempt := 1; attempt <= b.Attempts; attempt++ {
		s, err := measure()
		if err != nil {
			return Service{}, err
		}
		b.say("%d nodes, %.0f %% full: %.2f ms, null %.2f ms; %.1f %% of the machine's time was others'", s.Nodes, 100*s.Full, median(s.Ours), median(s.Null), s.Stolen)
		if s.Attempt = attempt; attempt == 1 || s.Stolen < best.Stolen {
			best = s
		}
		if best.Stolen <= calm {
			break
		}
	}
	return best, nil
}

// serveIn measures a new extender, which has not seen how the world came about.
func (b *bench) serveIn(ctx context.Context, p *plane, on *bus, f *fleet, null contestant, into *Service) error {
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
	return b.serve(ctx, on, f, []contestant{ours, null}, into)
}

// serve asks both, in turns, while the books change.
func (b *bench) serve(ctx context.Context, on *bus, f *fleet, both []contestant, into *Service) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changing := make(chan error, 1)
	go func() { changing <- churn(ctx, on, f) }()
	names, q := named(f.nodes), &questions{dice: rand.New(rand.NewPCG(b.Seed, 1))}
	askers := []*asker{newAsker(both[0].url), newAsker(both[1].url)}
	all, before := make([]times, len(both)), clocks()
	for round := -1; round < b.scale.rounds; round++ { // the first one only warms up
		medians := make([]float64, len(both))
		for _, who := range interleaved(len(both), round+2) {
			taken, err := askAll(ctx, askers[who], q, names, b.scale.pods)
			if err != nil {
				return err
			}
			if medians[who] = milliseconds(taken.quantile(0.5)); round >= 0 {
				all[who] = append(all[who], taken...)
			}
		}
		if round >= 0 {
			into.Ours, into.Null = append(into.Ours, medians[0]), append(into.Null, medians[1])
		}
	}
	into.Ratios = ratios(into.Ours, into.Null)
	into.Tail, into.NullTail, into.Stolen = all[0].tail(), all[1].tail(), clocks().stolenSince(before)
	cancel()
	return <-changing
}

// churnEvery is how often a node's books change while service times are taken: as often as a busy scheduler binds.
const churnEvery = 25 * time.Millisecond

// churn writes a small allocation somewhere and takes it away again, until ctx ends.
func churn(ctx context.Context, on *bus, f *fleet) error {
	dice, tick := rand.New(rand.NewPCG(99, 0)), time.NewTicker(churnEvery)
	defer tick.Stop()
	last, whole := "", context.WithoutCancel(ctx) // what was begun is ended: it leaves nothing behind
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
			return fmt.Errorf("changing the books: %w", err)
		}
	}
}
