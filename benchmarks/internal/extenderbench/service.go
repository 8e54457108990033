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
	// Tail is p99 over p50 of our questions in the turns that count, NullTail of the other's; AllTail and AllNullTail are of all
	// turns that were taken.
	Tail, NullTail, AllTail, AllNullTail float64
	// Stolen is which part of the machine's time its hypervisor gave to others in each of our turns that count, and Aside which
	// part of one core the API server and its etcd took, both in per cent.
	Stolen, Aside []float64
	// Taken is how many turns we took to have those.
	Taken int
}

// service measures worlds of the sizes that are asked for, each on a control plane of its own.
func (b *bench) service(ctx context.Context) error {
	for _, w := range b.scale.worlds {
		if err := b.on(func(ctx context.Context, p *plane) error { return b.serviceAt(ctx, p, w) })(ctx); err != nil {
			return fmt.Errorf("%d nodes: %w", w.nodes, err)
		}
	}
	return nil
}

// serviceAt measures one world at 0, 50 and 95 per cent.
func (b *bench) serviceAt(ctx context.Context, p *plane, w world) error {
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
		// Their pods as well: an allocation whose pod nobody knows is a thing to look into, and thousands of them are no cluster.
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

// serveIn measures a new extender, which has not seen how the world came about.
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
		b.say("processors may fall asleep between questions, which only root can keep them from: %v", err)
	}
	return b.serve(ctx, p, on, f, []contestant{ours, null}, questions, into)
}

// serve asks both, in turns, while the books change.
func (b *bench) serve(ctx context.Context, p *plane, on *bus, f *fleet, both []contestant, asked int, into *Service) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changing := make(chan error, 1)
	go func() { changing <- churn(ctx, on, f) }()
	names, q := named(f.nodes), &questions{dice: rand.New(rand.NewPCG(b.Seed, 1))}
	askers := []*asker{newAsker(both[0].url), newAsker(both[1].url)}
	counted, all := make([][]turn, len(both)), make([][]turn, len(both))
	for round := -1; round < b.scale.rounds; round++ { // the first one only warms up
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

// conclude has the figures of the turns that count, and what those of all would be: ours first, then the other's.
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
