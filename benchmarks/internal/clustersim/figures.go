package clustersim

import "fmt"

// Figure is a mean over seeds with its 95 % interval. Target is the bound that Value must not exceed; nil without one.
type Figure struct {
	Name   string
	Mean   Mean
	Unit   string
	Target *float64
}

// Met reports whether a figure with a target has reached it.
func (f Figure) Met() bool { return f.Target != nil && f.Mean.Value <= *f.Target }

// judged is the schedule whose figures have targets.
const judged = "20 mixed"

// Figures returns the figures of rows.
func Figures(rows []Row) []Figure {
	var all []Figure
	for _, r := range rows {
		if r.System == Default {
			continue
		}
		prefix := fmt.Sprintf("%s, %s: ", r.Schedule.Name, r.System)
		target := func(bound float64) *float64 {
			if r.Schedule.Name != judged || r.System != Trellis {
				return nil
			}
			return &bound
		}
		most := float64(r.MostMoves)
		all = append(all,
			Figure{prefix + "mean completion", r.CompletionChange, "%", target(-25)},
			Figure{prefix + "makespan", r.MakespanChange, "%", target(-25)},
			Figure{prefix + "jobs that end more than 1 % later", r.Slower, "%", target(10)},
			Figure{prefix + "most delayed job", r.Worst, "%", target(5)},
			Figure{prefix + "most moves of a job", Mean{most, most, most}, "", target(2)},
			Figure{prefix + "standard deviation of workers' CPU", r.Balance, "% of a worker", nil},
		)
	}
	return all
}
