package interference

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

// KindReport shows what was learned about a kind of job.
type KindReport struct {
	Kind     Kind
	Activity growth.Share
	// Sensitivity is the factor by which the jobs are slowed down more than their activity explains, Pressure the factor by
	// which they slow others down more. The deviations are relative.
	Sensitivity, SensitivityDeviation float64
	Pressure, PressureDeviation       float64
}

// PairReport shows what was measured of a job next to others, and what is predicted now.
type PairReport struct {
	Own    Kind
	Others []Kind
	// Measured is the mean of the measured slowdowns, Observations their number, each of them at most 1 by its duration.
	Measured     growth.Slowdown
	Observations float64
	Predicted    Prediction
}

// Kinds reports on all measured kinds, in order.
func (m Model) Kinds() []KindReport {
	if m.learned == nil {
		return nil
	}
	var reports []KindReport
	for _, k := range slices.Sorted(maps.Keys(m.learned.kinds)) {
		e := m.learned.kinds[k]
		reports = append(reports, KindReport{
			Kind:                 k,
			Activity:             growth.Share(e.activity),
			Sensitivity:          math.Exp(e.sensitivity.mean),
			SensitivityDeviation: math.Sqrt(e.sensitivity.variance),
			Pressure:             math.Exp(e.pressure.mean),
			PressureDeviation:    math.Sqrt(e.pressure.variance),
		})
	}
	return reports
}

// Pairs reports on all measured pairs and larger sets, the smallest sets first.
func (m Model) Pairs() []PairReport {
	if m.learned == nil {
		return nil
	}
	var reports []PairReport
	for _, key := range slices.SortedFunc(maps.Keys(m.learned.entries), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	}) {
		e := m.learned.entries[key]
		reports = append(reports, PairReport{
			Own:          e.own,
			Others:       slices.Clone(e.others),
			Measured:     growth.Slowdown(1 + e.mean),
			Observations: e.weight,
			Predicted:    m.learned.predict(Member{Kind: e.own}, members(e.others)).slowdown(),
		})
	}
	return reports
}

// members returns members of kinds with their usual activities.
func members(kinds []Kind) []Member {
	all := make([]Member, len(kinds))
	for n, k := range kinds {
		all[n] = Member{Kind: k}
	}
	return all
}
