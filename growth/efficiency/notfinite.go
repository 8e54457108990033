package efficiency

import (
	"errors"
	"math"
	"strings"

	"github.com/trellis-gpu/trellis/growth"
)

// ErrNotFinite is returned for a report whose metric is NaN or infinite.
var ErrNotFinite = errors.New("the metric is not a finite number")

// lastingReports is the number of consecutive reports that are not finite after which a metric counts as lost, and the
// number of consecutive finite ones after which it has recovered. A single NaN, as from one bad batch, changes nothing.
const lastingReports = 3

// NotFinite describes a metric that is NaN or infinite.
type NotFinite struct {
	// Since is the step of the first report that was not finite. Reports counts such reports since then.
	Since   int64 `json:"since"`
	Reports int   `json:"reports"`
	// Lasting is set once lastingReports of them came in a row. Until then the job is treated like any other.
	Lasting bool `json:"lasting,omitempty"`
	// NaN, PositiveInf and NegativeInf are set for each kind of value that was reported.
	NaN         bool `json:"nan,omitempty"`
	PositiveInf bool `json:"posInf,omitempty"`
	NegativeInf bool `json:"negInf,omitempty"`
	// Finite counts consecutive finite reports since Lasting was set.
	Finite int `json:"finite,omitempty"`
	// Category is the category at the first report. The job has it again once its metric has recovered.
	Category growth.Category `json:"category,omitempty"`
}

// Kinds names the values that were reported: "NaN or -Inf".
func (f NotFinite) Kinds() string {
	var kinds []string
	for _, kind := range []struct {
		seen bool
		name string
	}{{f.NaN, "NaN"}, {f.PositiveInf, "+Inf"}, {f.NegativeInf, "-Inf"}} {
		if kind.seen {
			kinds = append(kinds, kind.name)
		}
	}
	return strings.Join(kinds, " or ")
}

// add returns f after a report that is not finite.
func (f NotFinite) add(step int64, value float64) NotFinite {
	if f.Reports == 0 {
		f.Since = step
	}
	f.Reports++
	f.Finite = 0
	f.Lasting = f.Lasting || f.Reports >= lastingReports
	f.NaN = f.NaN || math.IsNaN(value)
	f.PositiveInf = f.PositiveInf || math.IsInf(value, 1)
	f.NegativeInf = f.NegativeInf || math.IsInf(value, -1)
	return f
}

func (f NotFinite) valid() bool { return f.Since >= 0 && f.Reports >= 0 && f.Finite >= 0 }

// NotFinite describes the metric if its last reports were not finite. It is zero for a finite metric.
func (t *Tracker) NotFinite() NotFinite { return t.state.NotFinite }

// addNotFinite adds a report that is not finite.
func (t *Tracker) addNotFinite(step int64, value float64) {
	t.invalid++
	if t.state.NotFinite.Reports == 0 {
		t.state.NotFinite.Category = t.state.Category
	}
	t.state.NotFinite = t.state.NotFinite.add(step, value)
}

// addFinite adds a finite report after others.
func (t *Tracker) addFinite() {
	f := &t.state.NotFinite
	f.Finite++
	if !f.Lasting || f.Finite >= lastingReports {
		t.recover()
	}
}

// recover ends the loss of a metric. Growth is measured again from the next sample on.
func (t *Tracker) recover() {
	f := t.state.NotFinite
	t.state.NotFinite = NotFinite{}
	if !f.Lasting {
		return
	}
	t.hasSample = false
	t.state.LowStreak = 0
	if f.Category.Valid() {
		t.state.Category = f.Category
	}
}
