package placementsim

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/trellis-gpu/trellis/growth"
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
}

// Published returns the pairs that IADeep published (SC'23, artefact of 2023), with the memory of its jobs. The table has
// the sum of the increases of both jobs; half of it is attributed to each. Four of the fifteen pairs are missing or corrupt
// there, and are filled by the sum of one effect of each kind.
func Published() Speeds {
	s := Speeds{
		Source: "IADeep's published pairs; 4 of 15 filled",
		Kinds: []Kind{
			{"vgg16", 7 * growth.GiB},
			{"resnet50", 5 * growth.GiB},
			{"squeezenet", 3 * growth.GiB},
			{"neumf", 3 * growth.GiB},
			{"lstm", 3 * growth.GiB},
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

// maxKinds bounds a table.
const maxKinds = 64

// Read reads measured pairs: lines of "own,other,slowdown" after a header. Every pair of kinds must be there, in both
// directions. The memory of a kind is not part of a table, so every job gets memory.
func Read(r io.Reader, source string, memory growth.MiB) (Speeds, error) {
	records, err := csv.NewReader(io.LimitReader(r, 1<<20)).ReadAll()
	if err != nil {
		return Speeds{}, fmt.Errorf("reading pairs: %w", err)
	}
	if len(records) == 0 || len(records[0]) != 3 {
		return Speeds{}, errors.New(`no pairs: the first line must be "own,other,slowdown"`)
	}
	s, index := Speeds{Source: source}, map[string]int{}
	for _, record := range records[1:] {
		if _, known := index[record[0]]; !known {
			index[record[0]] = len(s.Kinds)
			s.Kinds = append(s.Kinds, Kind{record[0], memory})
		}
	}
	if len(s.Kinds) == 0 || len(s.Kinds) > maxKinds {
		return Speeds{}, fmt.Errorf("%d kinds of jobs: give 1 to %d", len(s.Kinds), maxKinds)
	}
	for range s.Kinds {
		s.Slowdown = append(s.Slowdown, make([]float64, len(s.Kinds)))
	}
	for line, record := range records[1:] {
		slowdown, err := strconv.ParseFloat(record[2], 64)
		other, known := index[record[1]]
		if err != nil || !known || !(slowdown >= 0.5 && slowdown < 1000) {
			return Speeds{}, fmt.Errorf("line %d: %q is no slowdown of a known pair of kinds", line+2, record)
		}
		s.Slowdown[index[record[0]]][other] = slowdown
	}
	for i, row := range s.Slowdown {
		for k, slowdown := range row {
			if slowdown == 0 {
				return Speeds{}, fmt.Errorf("the pair %s, %s is missing", s.Kinds[i].Name, s.Kinds[k].Name)
			}
		}
	}
	return s, nil
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
