package placementsim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/interference"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// A set counts as a whole, by its first measurement. What has not been measured costs the same for all sets.
func TestIADeepsCode_KeepsTheFirstMeasurement(t *testing.T) {
	seen := table{}
	pair := func(a, b interference.Kind, speed float64) interference.Measurement {
		return interference.Measurement{Set: []interference.Member{{Kind: a, Speed: speed}, {Kind: b, Speed: speed}}}
	}
	seen.observe(pair("a", "b", .8))
	seen.observe(pair("b", "a", .5))
	p := published{seen}
	with := func(kinds ...interference.Kind) (g placement.GPU) {
		for _, k := range kinds {
			g.Residents = append(g.Residents, placement.Resident{Kind: k})
		}
		return g
	}
	require.InDelta(t, .5, float64(p.increase(with("a"), placement.Newcomer{Kind: "b"})), 1e-9)
	require.InDelta(t, .5, float64(p.increase(with("b"), placement.Newcomer{Kind: "a"})), 1e-9)
	require.InDelta(t, unknownIncrease, float64(p.increase(with("a"), placement.Newcomer{Kind: "a"})), 1e-9)
	require.InDelta(t, unknownIncrease, float64(p.increase(with("a", "b"), placement.Newcomer{Kind: "b"})), 1e-9)
	require.Equal(t, placement.Score(1), p.Score(with(), placement.Newcomer{Kind: "b"}))
}
