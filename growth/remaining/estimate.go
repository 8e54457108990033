package remaining

import "github.com/trellis-gpu/trellis/growth"

// Estimate is a prediction of work in core-seconds, 0 ≤ Low ≤ Likely ≤ High. The zero value is an unknown amount of
// work. Known work of zero means that nothing is left to do.
type Estimate struct {
	Low    growth.CoreSeconds `json:"low"`
	Likely growth.CoreSeconds `json:"likely"`
	High   growth.CoreSeconds `json:"high"`
	Known  bool               `json:"known"`
}

// Exact returns an estimate without error.
func Exact(work growth.CoreSeconds) Estimate {
	return Estimate{
		Low:    work,
		Likely: work,
		High:   work,
		Known:  true,
	}
}
