package sim

import (
	"cmp"
	"embed"
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/trellis-gpu/trellis/benchmarks/internal/timeline"
	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
	"github.com/trellis-gpu/trellis/growth/programs"
)

// The loss of each kind of example job on images that it was not trained on, each 20 steps, as
//
//	benchmarks/jobs/run.py KIND --steps 1.5×USUAL --batch-size 32 --learning-rate 0.003 --seed SEED --progress log
//
// prints it: the jobs of bench-flowcon, alone on a core. Each is recorded twice, with seeds 1 and 2.
//
//go:embed recordings/*.csv
var recordings embed.FS

// Loss is a report after some part of a job's work.
type Loss struct{ After, Value float64 }

// drawRecorded returns the jobs of one seed from recordings, each kind as often as the next, no recording twice.
func (m Machine) drawRecorded(dice, mistakes *rand.Rand, errors float64) []Job {
	jobs, kinds := make([]Job, m.Jobs()), workload.FlowConKinds()
	for i := range jobs {
		kind, take := kinds[i%len(kinds)], i/len(kinds)%2
		usual := float64(workload.UsualSteps(kind))
		length := 0.5 + dice.Float64()
		j := Job{Arrival: arrivals * dice.Float64(), Limit: 1, Work: 172 * length, Wrong: 1 + errors*(2*mistakes.Float64()-1)}
		j.Kind, j.Steps, j.Start = kind, usual*length, start
		j.Losses = j.recorded(take)
		j.Need = j.Work * goodAfter(j.Losses)
		if m.Again {
			j.Before = []programs.Run{earlier(kind, 1-take).run()}
		}
		if m.History != "" {
			j.Learned, j.Take = true, take
			m.History.remember(&j)
		}
		jobs[i] = j
	}
	slices.SortFunc(jobs, func(a, b Job) int { return cmp.Compare(a.Arrival, b.Arrival) })
	return jobs
}

// earlier returns a job of the full length of a recording.
func earlier(kind string, take int) Job {
	j := Job{Work: 172 * longest, Wrong: 1, Kind: kind, Steps: float64(workload.UsualSteps(kind)) * longest, Start: start}
	j.Losses = j.recorded(take)
	return j
}

const (
	// longest is the length of a recording, in multiples of the usual steps.
	longest = 1.5
	// start is the work of such a job before its first step, in core-seconds, as of bench-flowcon's jobs.
	start = 4
)

// recorded returns the reports of a job.
func (j Job) recorded(take int) (all []Loss) {
	text, err := recordings.ReadFile(fmt.Sprintf("recordings/%s-%d.csv", j.Kind, take+1))
	if err != nil {
		panic(err) // it is in this program
	}
	rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil {
		panic(fmt.Sprintf("recording of %s: %v", j.Kind, err))
	}
	for _, row := range rows[1:] {
		step, _ := strconv.ParseFloat(row[0], 64)
		loss, _ := strconv.ParseFloat(row[1], 64)
		if step <= j.Steps {
			all = append(all, Loss{After: (j.Start + (j.Work-j.Start)*step/j.Steps) / j.Work, Value: loss})
		}
	}
	return all
}

// goodAfter returns the part of the work after which the loss reaches its target, as bench-flowcon defines it.
func goodAfter(all []Loss) float64 {
	values := make([]float64, len(all))
	for i, report := range all {
		values[i] = report.Value
	}
	if i, ok := timeline.TargetReached(values); ok {
		return all[i].After
	}
	return 1
}
