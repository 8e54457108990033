package interference

import (
	"encoding/json"
	"math"

	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
	"github.com/trellis-gpu/trellis/growth/interference"
)

// Study is the predictions of unseen sets from one source. Judged is set if its figures have targets, Invented if the cases follow
// from the seeds: the figures file leaves those out.
type Study struct {
	Name             string
	Judged, Invented bool
	Cases            []Case
}

// MarshalJSON implements json.Marshaler.
func (s Study) MarshalJSON() ([]byte, error) {
	cases := s.Cases
	if s.Invented {
		cases = nil
	}
	return json.Marshal(struct {
		Name   string `json:"name"`
		Judged bool   `json:"judged"`
		Cases  []Case `json:"cases,omitempty"`
	}{s.Name, s.Judged, cases})
}

// The targets, in per cent.
const (
	maxError           = 15
	minCover, maxCover = 75, 85
)

// Studies predicts what seeds invent, what IADeep published, and what was recorded, if anything was.
func Studies(seeds int, recorded []interference.Measurement) ([]Study, error) {
	var all []Study
	add := func(name string, judged bool, cases []Case, err error) error {
		all = append(all, Study{Name: name, Judged: judged, Cases: cases})
		return err
	}
	every := func(interference.Measurement) bool { return true }
	pairs := func(m interference.Measurement) bool { return len(m.Set) == 2 }
	if len(recorded) > 0 {
		cases, err := LeaveOneOut(recorded, 2, every)
		if err := add("measured, unseen pairs", true, cases, err); err != nil {
			return nil, err
		}
		cases, err = LeaveOneOut(recorded, 3, every)
		if err := add("measured, unseen triples", true, cases, err); err != nil {
			return nil, err
		}
		cases, err = LeaveOneOut(recorded, 3, pairs)
		if err := add("measured, unseen triples from pairs only", false, cases, err); err != nil {
			return nil, err
		}
	}
	cases, err := LeaveOneOut(Published(), 2, every)
	if err := add("published by IADeep, unseen pairs", false, cases, err); err != nil {
		return nil, err
	}
	cases = nil
	for seed := range seeds {
		some, err := Synthetic(uint64(seed + 1))
		if err != nil {
			return nil, err
		}
		cases = append(cases, some...)
	}
	all = append(all,
		Study{Name: "synthetic, unseen pairs", Judged: true, Invented: true, Cases: ofSize(cases, 2)},
		Study{Name: "synthetic, unseen triples", Judged: true, Invented: true, Cases: ofSize(cases, 3)})
	return all, nil
}

// Goals returns the figures of the studies.
func Goals(studies []Study) []results.Goal {
	var goals []results.Goal
	for _, s := range studies {
		failure := goal(s.Name+": median error", 100*median(s.Cases, Case.Error), "%")
		cover := goal(s.Name+": in 80 % interval", 100*covered(s.Cases), "%")
		if s.Judged {
			failure.Target, failure.Met = judged(maxError, failure.Value <= maxError)
			target := float64(80)
			cover.Target, cover.Met = judged(target, cover.Value >= minCover && cover.Value <= maxCover)
		}
		goals = append(goals, failure, cover,
			goal(s.Name+": median error of the prior", 100*median(s.Cases, Case.PriorError), "%"),
			goal(s.Name+": slowdowns", float64(len(s.Cases)), ""))
	}
	return goals
}

func goal(name string, value float64, unit string) results.Goal {
	value = math.Round(value*10) / 10
	return results.Goal{Name: name, Value: value, Low: value, High: value, Unit: unit}
}

func judged(target float64, met bool) (*float64, *bool) { return &target, &met }
