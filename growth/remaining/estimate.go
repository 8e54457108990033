package remaining

import "github.com/trellis-gpu/trellis/growth"

// Estimate is a prediction of work, 0 ≤ Low ≤ Likely ≤ High. The zero value is an unknown amount of work. Known work of
// zero means that nothing is left to do.
type Estimate struct {
	Low    growth.Work `json:"low"`
	Likely growth.Work `json:"likely"`
	High   growth.Work `json:"high"`
	Known  bool        `json:"known"`
	// Unit is the unit of the three amounts.
	Unit growth.Unit `json:"unit,omitempty"`
}

// In returns the estimate if it is in a unit, and unknown work otherwise.
func (e Estimate) In(unit growth.Unit) Estimate {
	if e.Unit != unit {
		return Estimate{Unit: unit}
	}
	return e
}

// Exact returns an estimate without error, in core-seconds.
func Exact(work growth.Work) Estimate {
	return Estimate{
		Low:    work,
		Likely: work,
		High:   work,
		Known:  true,
	}
}
