package advise_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/loader"

	"github.com/trellis-gpu/trellis/tuner/internal/advise"
	"github.com/trellis-gpu/trellis/tuner/internal/history"
)

// TestDecide_JobsComeAndGoDuringChanges: jobs arrive and leave in any order, also while their advice waits for them. Once
// nothing happens any more, the node runs at most as many workers as it has cores, and the advice is final.
func TestDecide_JobsComeAndGoDuringChanges(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 15))
		a := advise.Adviser{Policy: loader.DefaultChangePolicy()}
		budget, next, now := rng.IntN(9), 0, start
		running := map[growth.PodUID]*history.Job{}
		// round lets the adviser decide. Each advice is followed, unless its job has left or is late.
		round := func(late bool) (changes []advise.Change) {
			jobs := []history.Job{}
			for _, uid := range slices.Sorted(maps.Keys(running)) {
				jobs = append(jobs, *running[uid])
			}
			s := oneCore(jobs...)
			s.Nodes[0].Load.LoaderBudget = budget
			changes = a.Decide(s, now)
			for _, c := range changes {
				if j := running[c.Job]; j != nil && c.Advice != nil && (!late || rng.IntN(2) != 0) {
					*j = job(c.Job, j.Sample.Growth, *c.Advice.Loaders, advised(c.Advice.Generation, *c.Advice.Loaders))
				}
			}
			now = now.Add(2 * time.Second)
			return changes
		}
		for range 40 {
			switch rng.IntN(4) {
			case 0:
				uid := growth.PodUID("job-" + strconv.Itoa(next))
				next++
				running[uid] = new(job(uid, growth.Growth(rng.Float64()), rng.IntN(4)))
			case 1:
				if uids := slices.Sorted(maps.Keys(running)); len(uids) > 0 {
					delete(running, uids[rng.IntN(len(uids))])
				}
			}
			round(true)
		}
		for range 100 {
			round(false)
		}
		require.Empty(t, round(false), "seed %d", seed)
		workers := 0
		for _, j := range running {
			workers += *j.Sample.Loaders
		}
		require.LessOrEqual(t, workers, budget, "seed %d", seed)
	}
}
