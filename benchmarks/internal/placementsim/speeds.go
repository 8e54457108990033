package placementsim

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/interference"
)

// Speeds are the kinds of jobs and how they slow one another down.
type Speeds struct {
	// Source says where the numbers come from, for reports.
	Source string
	Kinds  []Kind
	// Slowdown[i][k] is the step time of kind i next to one job of kind k, relative to that alone.
	Slowdown [][]float64
}

// Kind is a kind of jobs.
type Kind struct {
	Name   string
	Memory growth.MiB
	// Activity is the fraction of a step in which the jobs do not wait for data; 0 if it is unknown.
	Activity growth.Share
}

// Published returns the pairs that IADeep published (SC'23, artefact of 2023), with the memory of its jobs. The table has
// the sum of the increases of both jobs; half of it is attributed to each. Four of the fifteen pairs are missing or corrupt
// there, and are filled by the sum of one effect of each kind. It has no activities.
func Published() Speeds {
	s := Speeds{
		Source: "IADeep's published pairs; 4 of 15 filled",
		Kinds: []Kind{
			{Name: "vgg16", Memory: 7 * growth.GiB},
			{Name: "resnet50", Memory: 5 * growth.GiB},
			{Name: "squeezenet", Memory: 3 * growth.GiB},
			{Name: "neumf", Memory: 3 * growth.GiB},
			{Name: "lstm", Memory: 3 * growth.GiB},
		},
	}
	sums := [][]float64{
		{0.732},
		{0.724, 0.486},
		{0.932, 0.70 /* filled */, 0.905},
		{0.284, 0.080, 0.296, 0.05 /* filled */},
		{0.718, 0.656, 1.050, 0.30 /* filled */, 0.90 /* filled */},
	}
	for i := range s.Kinds {
		s.Slowdown = append(s.Slowdown, make([]float64, len(s.Kinds)))
		for k := range i + 1 {
			s.Slowdown[i][k] = 1 + sums[i][k]/2
			s.Slowdown[k][i] = s.Slowdown[i][k]
		}
	}
	return s
}

// Measured returns the speeds of measured pairs. The kinds are numbered in the order of their identities; each of their
// jobs asks for memory. Their activities are means over the pairs. Larger sets are left out. It returns an error if a
// pair was not measured.
func Measured(source string, memory growth.MiB, sets []interference.Measurement) (Speeds, error) {
	sums, counts := map[[2]interference.Kind]float64{}, map[[2]interference.Kind]float64{}
	activities, members := map[interference.Kind]growth.Share{}, map[interference.Kind]growth.Share{}
	for _, m := range sets {
		if len(m.Set) != 2 {
			continue
		}
		if err := m.Validate(); err != nil {
			return Speeds{}, fmt.Errorf("measured pairs: %w", err)
		}
		for i, own := range m.Set {
			pair := [2]interference.Kind{own.Kind, m.Set[1-i].Kind}
			sums[pair] += 1 / own.Speed
			counts[pair]++
			activities[own.Kind] += own.Activity
			members[own.Kind]++
		}
	}
	s := Speeds{Source: source}
	kinds := slices.Sorted(maps.Keys(activities))
	for n, own := range kinds {
		s.Kinds = append(s.Kinds, Kind{
			Name:     fmt.Sprint("kind ", n+1),
			Memory:   memory,
			Activity: activities[own] / members[own],
		})
		var row []float64
		for _, other := range kinds {
			pair := [2]interference.Kind{own, other}
			if counts[pair] == 0 {
				return Speeds{}, fmt.Errorf("measured pairs: kinds %s and %s were not measured together", own, other)
			}
			row = append(row, max(1, sums[pair]/counts[pair]))
		}
		s.Slowdown = append(s.Slowdown, row)
	}
	if len(s.Kinds) == 0 {
		return Speeds{}, errors.New("measured pairs: there are none")
	}
	return s, nil
}

// slow reports whether some pair is too slow together, and takes turns.
func (s Speeds) slow() bool {
	for i := range s.Kinds {
		for k := range s.Kinds {
			speeds := s.together([]int{i, k})
			if speeds[0]+speeds[1] < minTogether {
				return true
			}
		}
	}
	return false
}

// together returns the speeds of jobs that all compute at the same time, relative to each of them alone.
func (s Speeds) together(kinds []int) []float64 {
	speeds := make([]float64, len(kinds))
	for i, own := range kinds {
		slowdown := 1.0
		for k, other := range kinds {
			if k != i {
				slowdown += s.Slowdown[own][other] - 1
			}
		}
		speeds[i] = 1 / slowdown
	}
	return speeds
}
