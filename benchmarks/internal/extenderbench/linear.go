package extenderbench

import (
	"context"
	"math/rand/v2"
)

// Linear is the median time of filter in a cluster with this number of nodes: for a request that names all of them, and
// for one that names the first 500.
type Linear struct {
	Nodes    int     `json:"nodes"`
	All, Few float64 // milliseconds
}

// fewNames is the number of names in the requests whose length stays the same.
const fewNames = 500

// linear measures filter at a growing number of nodes.
func (b *bench) linear(ctx context.Context, p *plane) error {
	store, err := openBus(ctx, p.stock, b.dir)
	if err != nil {
		return err
	}
	defer store.close()
	f := newFleet(b.Seed)
	for _, nodes := range b.scale.linearNodes {
		if err := publishInventories(ctx, store, f.grow(nodes)); err != nil {
			return err
		}
		ours, err := b.startExtender(p, store, "growth")
		if err != nil {
			return err
		}
		measured := Linear{Nodes: nodes}
		err = ours.wait(ctx)
		if err == nil {
			measured.Few, err = b.filterTime(ctx, ours, f.nodes[:fewNames])
		}
		if err == nil {
			measured.All, err = b.filterTime(ctx, ours, f.nodes)
		}
		ours.stop()
		if err != nil {
			return err
		}
		b.out.Linear = append(b.out.Linear, measured)
		b.say("%d nodes: filter of all %.2f ms, of %d names %.2f ms", nodes, measured.All, fewNames, measured.Few)
	}
	return nil
}

// filterTime returns the median time of filter in milliseconds, without the first 20 requests.
func (b *bench) filterTime(ctx context.Context, c contestant, nodes []string) (float64, error) {
	a, q, names := newClient(c.url), &requests{random: rand.New(rand.NewPCG(b.Seed, 2))}, encodeNames(nodes)
	var all times
	for i := range 20 + 4*b.scale.pods {
		body, err := q.body(names)
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
