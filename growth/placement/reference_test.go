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
	policy := placement.MarginalGrowth{}
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

// totalChange returns the change of the total growth of all jobs on all GPUs.
func totalChange(n placement.Node, shares []growth.GPUShare, count int) float64 {
	change := 0.0
	for _, share := range shares {
		for _, g := range n.GPUs {
			if g.UUID == share.GPU {
				newcomer := placement.Resident{Growth: placement.NewJobGrowth / growth.Growth(count)}
				change += total(append(append([]placement.Resident{}, g.Residents...), newcomer)) - total(g.Residents)
			}
		}
	}
	return change
}

func total(jobs []placement.Resident) float64 {
	sum := 0.0
	for i, j := range jobs {
		var others []interference.Member
		for k, other := range jobs {
			if k != i {
				others = append(others, interference.Member{Activity: other.Activity})
			}
		}
		own := interference.Member{Activity: j.Activity}
		sum += float64(j.Growth) / float64(interference.Prior().Predict(own, others).Cautious())
	}
	return sum
}

func randomNode(rng *rand.Rand) placement.Node {
	n := placement.Node{Name: "n", Unit: gib}
	for i := range rng.IntN(6) {
		g := placement.GPU{UUID: growth.GPU("GPU-" + string(rune('a'+i))), Memory: 16 * gib, Healthy: rng.IntN(8) > 0}
		for range rng.IntN(5) {
			g.Residents = append(g.Residents, placement.Resident{
				Memory: growth.MiB(1+rng.IntN(5)) * gib, Growth: growth.Growth(rng.Float64()), Activity: growth.Share(rng.Float64()),
			})
		}
		n.GPUs = append(n.GPUs, g)
	}
	return n
}
