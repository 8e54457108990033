package placement_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/interference"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// Place chooses one GPU after another. The reference implementation tries every set of GPUs and chooses the one that
// increases the total growth most.
func TestPlace_MatchesExhaustiveSearch(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	policy := placement.MarginalGrowth{Stay: stay}
	for range 5_000 {
		n := randomNode(rng)
		count := 1 + rng.IntN(3)
		r := asks(4*gib, count, 4*count)
		choice, status := placement.Place(n, r, policy)
		score, scored := placement.ScoreNode(n, r, policy)
		require.Equal(t, status, scored)
		require.Equal(t, choice.Score, score, "ScoreNode agrees with Place")
		best, found := bestSet(n, count, 4*gib)
		require.Equal(t, found, status.Fits(), "%+v", n)
		if found {
			require.InDelta(t, best, float64(choice.Score), 1e-9, "%+v", n)
			require.InDelta(t, best, totalChange(n, choice.GPUs, count), 1e-9,
				"the score is the change of the chosen set")
		}
	}
}

// bestSet is the reference implementation of Place.
func bestSet(n placement.Node, count int, memory growth.MiB) (best float64, found bool) {
	for set := range 1 << len(n.GPUs) {
		var shares []growth.GPUShare
		fits := true
		for i, g := range n.GPUs {
			if set&(1<<i) != 0 {
				shares = append(shares, growth.GPUShare{GPU: g.UUID, Memory: memory})
				fits = fits && g.Healthy && g.Free() >= memory
			}
		}
		if len(shares) != count || !fits {
			continue
		}
		if change := totalChange(n, shares, count); !found || change > best {
			best, found = change, true
		}
	}
	return best, found
}

// totalChange returns the score of the sum of all parts of a new job.
func totalChange(n placement.Node, shares []growth.GPUShare, count int) float64 {
	change := 0.0
	for _, share := range shares {
		for _, g := range n.GPUs {
			if g.UUID == share.GPU {
				change += changeOn(g.Residents, count)
			}
		}
	}
	return change
}

// changeOn follows the formula in the documentation of the package.
func changeOn(jobs []placement.Resident, count int) float64 {
	added := append(append([]placement.Resident{}, jobs...), placement.Resident{})
	step := slowdown(added, len(jobs))
	present, loss := 0.0, 0.0
	for i, j := range jobs {
		slower := slowdown(added, i) / slowdown(jobs, i)
		part := 1.0
		if j.Left > 0 {
			part = min(1, float64(j.Left)*slower/(stay*step))
		}
		present += part / float64(len(jobs))
		loss += float64(j.Growth) * part * (1 - 1/slower)
	}
	return 1/float64(count)/(1+(step-1)*present) - loss
}

const stay = 128

// slowdown returns the slowdown of one of the jobs on a GPU.
func slowdown(jobs []placement.Resident, of int) float64 {
	var others []interference.Member
	for i, other := range jobs {
		if i != of {
			others = append(others, interference.Member{Activity: other.Activity})
		}
	}
	return float64(interference.Prior().Predict(interference.Member{Activity: jobs[of].Activity}, others).Mean)
}

func randomNode(rng *rand.Rand) placement.Node {
	n := placement.Node{Name: "n", Unit: gib}
	for i := range rng.IntN(6) {
		g := placement.GPU{UUID: growth.GPU("GPU-" + string(rune('a'+i))), Memory: 16 * gib, Healthy: rng.IntN(8) > 0}
		for range rng.IntN(5) {
			g.Residents = append(g.Residents, placement.Resident{
				Memory: growth.MiB(1+rng.IntN(5)) * gib, Growth: growth.Growth(rng.Float64()), Activity: growth.Share(rng.Float64()),
				Left: growth.Seconds(max(0, 400*rng.Float64()-100)),
			})
		}
		n.GPUs = append(n.GPUs, g)
	}
	return n
}
