package placementsim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/interference"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// unknownIncrease is what IADeep's code predicts for a set that is not in its table: its forest is fitted to labels without
// features, and returns their mean for every set.
const unknownIncrease = 0.54

// table has the sum of the relative increases of step time for each set of kinds that was measured. As in IADeep's code the
// first measurement of a set is never corrected.
type table map[string]float64

func (t table) observe(m interference.Measurement) {
	kinds, sum := make([]interference.Kind, len(m.Set)), 0.0
	for i, member := range m.Set {
		kinds[i] = member.Kind
		sum += 1/member.Speed - 1
	}
	if set := setOf(kinds); sum > 0 {
		if _, known := t[set]; !known {
			t[set] = sum
		}
	}
}

// setOf names a set of kinds, which may repeat; their order has no meaning.
func setOf(kinds []interference.Kind) string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k)
	}
	slices.Sort(names)
	return strings.Join(names, "\x00")
}

// published places as IADeep's code does (SC'23, with the table and the fallback of its repository): an idle GPU first, else
// the one with the least increase for the whole set. Defects that place at random, such as the one that samples utilisation,
// are left out.
type published struct{ seen table }

// Score returns 1 for an empty GPU and falls with the increase.
func (p published) Score(g placement.GPU, job placement.Newcomer) placement.Score {
	return placement.Score(1 / (1 + p.increase(g, job)))
}

// Explain names the increase.
func (p published) Explain(g placement.GPU, job placement.Newcomer) string {
	return fmt.Sprintf("+%.2f step time, summed over %d jobs", p.increase(g, job), len(g.Residents)+1)
}

func (p published) increase(g placement.GPU, job placement.Newcomer) growth.Slowdown {
	if len(g.Residents) == 0 {
		return 0
	}
	kinds := []interference.Kind{job.Kind}
	for _, r := range g.Residents {
		kinds = append(kinds, r.Kind)
	}
	if known, ok := p.seen[setOf(kinds)]; ok {
		return growth.Slowdown(known)
	}
	return unknownIncrease
}
