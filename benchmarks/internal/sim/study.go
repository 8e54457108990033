package sim

import (
	"context"
	"runtime"
	"sync"
)

// Errors are the bounds of relative errors in a study.
func Errors() []float64 { return []float64{0, 0.3} }

// Study runs every policy on each machine with each error, on the same jobs, for seeds 1 to seeds. The result depends
// on nothing else. It calls progress after each cell with the number of all of them, and returns ctx's error when ctx ends.
func Study(ctx context.Context, seeds int, machines []Machine, policies []Named, progress func(c Cell, of int)) ([]Cell, error) {
	var cells []Cell
	all := runs(machines, policies)
	for _, r := range all {
		c := cell(repeat(ctx, seeds, r.machine, r.errors, r.policy))
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		c.Machine, c.Errors, c.Policy = r.machine, r.errors, r.policy.Name
		cells = append(cells, c)
		progress(c, len(all))
	}
	return cells, nil
}

// run is what one cell compares with fair sharing.
type run struct {
	machine Machine
	errors  float64
	policy  Named
}

// runs returns all runs of a study. A policy that does not use declared sizes runs once.
func runs(machines []Machine, policies []Named) (all []run) {
	for _, m := range machines {
		for _, errors := range Errors() {
			for _, p := range policies {
				if errors == 0 || m.History == "" && believes(p.New(m.Cores, errors)) {
					all = append(all, run{m, errors, p})
				}
			}
		}
	}
	return all
}

// believes reports whether a policy uses declared sizes.
func believes(p Policy) bool {
	_, ok := p.(alertNode)
	return ok
}

// repeat compares a policy with fair sharing once for each seed.
func repeat(ctx context.Context, seeds int, m Machine, errors float64, p Named) []comparison {
	all := make([]comparison, seeds)
	forSeeds(ctx, seeds, func(i int) {
		jobs := m.Draw(uint64(i+1), errors)
		was, wasSpan := Run(jobs, m.Cores, Fair{})
		is, isSpan := Run(jobs, m.Cores, p.New(m.Cores, errors))
		all[i] = compare(was, is, wasSpan, isSpan)
	})
	return all
}

// forSeeds calls run for 0 to seeds-1, on all cores of this computer, until ctx ends.
func forSeeds(ctx context.Context, seeds int, run func(i int)) {
	var wait sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for i := range next {
				run(i)
			}
		})
	}
	for i := range seeds {
		if ctx.Err() == nil {
			next <- i
		}
	}
	close(next)
	wait.Wait()
}
