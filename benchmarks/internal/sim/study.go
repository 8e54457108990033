package sim

import (
	"context"
	"runtime"
	"sync"
)

// Errors are the bounds of relative errors in a study.
func Errors() []float64 { return []float64{0, 0.3} }

// Study runs every policy on each machine with each error, on the same jobs, for seeds 1 to seeds. The result depends
// on nothing else. It returns ctx's error when ctx ends.
func Study(ctx context.Context, seeds int, machines []Machine, policies []Named) ([]Cell, error) {
	var cells []Cell
	for _, m := range machines {
		for _, errors := range Errors() {
			for _, p := range policies {
				if errors > 0 && !believes(p.New(m.Cores, errors)) {
					continue
				}
				c := cell(repeat(ctx, seeds, m, errors, p))
				c.Machine, c.Errors, c.Policy = m, errors, p.Name
				cells = append(cells, c)
				if ctx.Err() != nil {
					return nil, ctx.Err()
				}
			}
		}
	}
	return cells, nil
}

// believes reports whether a policy uses declared sizes.
func believes(p Policy) bool {
	_, ok := p.(alertNode)
	return ok
}

// repeat compares a policy with fair sharing once for each seed, on all cores of this computer.
func repeat(ctx context.Context, seeds int, m Machine, errors float64, p Named) []comparison {
	all := make([]comparison, seeds)
	var wait sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for i := range next {
				jobs := m.Draw(uint64(i+1), errors)
				was, wasSpan := Run(jobs, m.Cores, Fair{})
				is, isSpan := Run(jobs, m.Cores, p.New(m.Cores, errors))
				all[i] = compare(was, is, wasSpan, isSpan)
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
	return all
}
