package extenderbench

import (
	"context"
	"math/rand/v2"
)

// Linear has the median time of filter with this number of nodes, in milliseconds: with all of them named, and with
// the first 500.
type Linear struct {
	Nodes    int     `json:"nodes"`
	All, Few float64 // milliseconds
}

// few is the number of names that does not grow.
const few = 500

// linear adds nodes and measures at each number.
func (b *bench) linear(ctx context.Context, p *plane) error {
	on, err := openBus(ctx, p.stock, b.dir)
	if err != nil {
		return err
	}
	defer on.close()
	f := newFleet(b.Seed)
	for _, nodes := range b.scale.linearNodes {
		if err := announce(ctx, on, f.grow(nodes)); err != nil {
			return err
		}
		ours, err := b.ours(p, on, "growth")
		if err != nil {
			return err
		}
		measured := Linear{Nodes: nodes}
		err = ours.wait(ctx)
		if err == nil {
			measured.Few, err = b.filterTime(ctx, ours, f.nodes[:few])
		}
		if err == nil {
			measured.All, err = b.filterTime(ctx, ours, f.nodes)
		}
		ours.stop()
		if err != nil {
			return err
		}
		b.out.Linear = append(b.out.Linear, measured)
		b.say("%d nodes: filter of all %.2f ms, of %d names %.2f ms", nodes, measured.All, few, measured.Few)
	}
	return nil
}

func (b *bench) filterTime(ctx context.Context, c contestant, nodes []string) (float64, error) {
	a, q, names := newAsker(c.url), &questions{dice: rand.New(rand.NewPCG(b.Seed, 2))}, named(nodes)
	var all times
	for i := range 20 + 4*b.scale.pods {
		body, err := q.about(names)
		if err != nil {
			return 0, err
		}
		took, err := a.time(ctx, "filter", body)
		if err != nil {
			return 0, err
		}
		if i >= 20 {
			all = append(all, took)
		}
	}
	return milliseconds(all.quantile(0.5)), nil
}
