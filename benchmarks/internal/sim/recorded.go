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

	"github.com/trellis-gpu/trellis/growth/remaining"
)

// The loss of each kind of example job on images that it was not trained on, each 20 steps, as
//
//	benchmarks/jobs/run.py KIND --steps 1.5×USUAL --batch-size 32 --learning-rate 0.003 --seed SEED --progress log
//
// tells it: what bench-flowcon plays, alone on a core. Each is recorded twice, with seeds 1 and 2.
//
//go:embed recordings/*.csv
var recordings embed.FS

// usual is how many steps bench-flowcon gives a kind; jobs make 0.5 to 1.5 times as many.
var usual = []struct {
	kind  string
	steps float64
}{{"birnn", 2050}, {"cnn", 1850}, {"gru", 2000}, {"lstm", 1850}, {"rnn", 2150}, {"vae", 1450}}

// Loss is what a job reports after some part of its work.
type Loss struct{ After, Value float64 }

// drawRecorded makes the jobs of one seed from recordings, each kind as often as the next, no recording twice.
func (m Machine) drawRecorded(dice, mistakes *rand.Rand, errors float64) []Job {
	jobs := make([]Job, m.Jobs())
	for i := range jobs {
		kind, take := usual[i%len(usual)], i/len(usual)%2
		length := 0.5 + dice.Float64()
		j := Job{Arrival: arrivals * dice.Float64(), Limit: 1, Work: 172 * length, Wrong: 1 + errors*(2*mistakes.Float64()-1)}
		j.Kind, j.Steps = kind.kind, kind.steps*length
		j.Losses = recorded(kind.kind, take, j.Steps)
		j.Need = j.Work * goodAfter(j.Losses)
		if m.Again {
			j.Before = []remaining.Curve{curve(recorded(kind.kind, 1-take, longest*kind.steps), longest*kind.steps)}
		}
		jobs[i] = j
	}
	slices.SortFunc(jobs, func(a, b Job) int { return cmp.Compare(a.Arrival, b.Arrival) })
	return jobs
}

// longest is how many times the usual steps a recording has.
const longest = 1.5

// curve is what is known of a job that has reported losses over so many steps.
func curve(losses []Loss, steps float64) (c remaining.Curve) {
	for _, report := range losses {
		c.Add(report.After*steps, report.Value)
	}
	return c
}

// recorded are the reports of a job of a kind that makes so many steps.
func recorded(kind string, take int, steps float64) (all []Loss) {
	text, err := recordings.ReadFile(fmt.Sprintf("recordings/%s-%d.csv", kind, take+1))
	if err != nil {
		panic(err) // it is in this program
	}
	rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil {
		panic(fmt.Sprintf("recording of %s: %v", kind, err))
	}
	for _, row := range rows[1:] {
		step, _ := strconv.ParseFloat(row[0], 64)
		loss, _ := strconv.ParseFloat(row[1], 64)
		if step <= steps {
			all = append(all, Loss{After: step / steps, Value: loss})
		}
	}
	return all
}

// goodAfter is the part of the work after which the loss, the median of five reports, has made 95 % of its way from the first
// report to the last ten: what bench-flowcon calls good.
func goodAfter(all []Loss) float64 {
	first, last := all[0].Value, median(all[len(all)-10:])
	for i := range all {
		if (first-median(all[i:min(i+5, len(all))]))/(first-last) >= 0.95 {
			return all[i].After
		}
	}
	return 1
}

func median(all []Loss) float64 {
	sorted := slices.SortedFunc(slices.Values(all), func(a, b Loss) int { return cmp.Compare(a.Value, b.Value) })
	return (sorted[(len(sorted)-1)/2].Value + sorted[len(sorted)/2].Value) / 2
}
