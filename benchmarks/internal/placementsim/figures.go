package placementsim

import (
	"fmt"
	"io"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/interference"
)

// Study is one experiment with its result.
type Study struct {
	Speeds  string  `json:"speeds"`
	Sharing Sharing `json:"sharing"`
	// Judged is set if the figures have targets.
	Judged bool  `json:"judged"`
	Rows   []Row `json:"rows"`
}

// Figure is the change of a mean time by Learned relative to another policy, in per cent. Target is the bound that High must be below;
// nil without one.
type Figure struct {
	Name             string
	Value, Low, High float64
	Target           *float64
}

// Met reports whether a figure with a target has reached it.
func (f Figure) Met() bool { return f.Target != nil && f.High < *f.Target }

// Studies compares the policies on 8 GPUs with 40 jobs: by the measured pairs, if there are any, and by the published ones.
// Only plain sharing is judged: in turns, no job slows another one down more than by its turn.
func Studies(seeds int, measured []interference.Measurement) ([]Study, error) {
	speeds := []Speeds{Published()}
	if len(measured) > 0 {
		pairs, err := Measured("measured pairs", 5*growth.GiB, measured)
		if err != nil {
			return nil, err
		}
		speeds = []Speeds{pairs, Published()}
	}
	var all []Study
	for i, s := range speeds {
		for _, sharing := range []Sharing{Plain, Turns} {
			if sharing == Turns && !s.slow() {
				continue // no set would take turns
			}
			e := Experiment{
				Layout:   Layout{Nodes: 2, GPUs: 4, Memory: 24 * growth.GiB},
				Speeds:   s,
				Workload: Workload{Jobs: 40, Window: 500},
				Sharing:  sharing,
			}
			all = append(all, Study{
				Speeds:  s.Source,
				Sharing: sharing,
				Judged:  i == 0 && sharing == Plain,
				Rows:    Run(e, Policies(), seeds),
			})
		}
	}
	return all, nil
}

// Figures returns the figures of studies.
func Figures(studies []Study) []Figure {
	var figures []Figure
	for _, s := range studies {
		for _, r := range s.Rows[1:] {
			of := func(what string, t Time) Figure {
				return Figure{
					Name:  fmt.Sprintf("placement, %s, %s: %s against %s", s.Speeds, s.Sharing, what, r.Policy),
					Value: t.Change,
					Low:   t.Low,
					High:  t.High,
				}
			}
			completion := of("mean completion", r.Completion)
			if s.Judged && slices.Contains(rivals(), r.Policy) {
				completion.Target = new(float64)
			}
			figures = append(figures, completion, of("mean time to 95 %", r.Good))
		}
	}
	return figures
}

// String returns the time and its change with the interval.
func (t Time) String() string {
	return fmt.Sprintf("%8.1f s  %+6.2f %% (%+.2f to %+.2f)", t.Seconds, t.Change, t.Low, t.High)
}

// Table prints the studies.
func Table(w io.Writer, studies []Study) {
	for _, s := range studies {
		fmt.Fprintf(w, "\n%s, %s: mean completion, and mean time to 95 %%, with the changes by %q\n\n", s.Speeds, s.Sharing, s.Rows[0].Policy)
		for _, r := range s.Rows {
			fmt.Fprintf(w, "  %-30s %s  %s\n", r.Policy, r.Completion, r.Good)
		}
	}
}
