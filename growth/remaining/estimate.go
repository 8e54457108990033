package remaining

import "github.com/trellis-gpu/trellis/growth"

// Estimate is a prediction of work, 0 ≤ Low ≤ Likely ≤ High, in core-seconds. The zero value says that nothing is
// known; zero work that is Known says that it is done.
type Estimate struct {
	Low    growth.CoreSeconds `json:"low"`
	Likely growth.CoreSeconds `json:"likely"`
	High   growth.CoreSeconds `json:"high"`
	Known  bool               `json:"known"`
}

// Exact is work known without error.
func Exact(work growth.CoreSeconds) Estimate {
	return Estimate{Low: work, Likely: work, High: work, Known: true}
}
