package programs

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/internal/numerics"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

const (
	// MaxRuns bounds the runs of a model.
	MaxRuns = 5
	// MaxRunsPerNode bounds the runs that a coordinator publishes of one program.
	MaxRunsPerNode = 2
	// minVoters is the number of runs with equal numbers whose median judges each of them.
	minVoters = 3
	// maxRatio is the largest ratio between the costs of two runs of equal numbers, or between their steps.
	maxRatio = 4
)

// Model is what the cluster knows of one program.
type Model struct {
	// Runs are the newest first.
	Runs []Run `json:"runs"`
	// Used is the day on which a job of the program last ran.
	Used time.Time `json:"used"`
	// Readers are the namespaces whose jobs may be predicted from a model in Shared; "*" is all.
	Readers []string `json:"readers,omitempty"`
}

// Merge adds runs of a program that a node publishes. It returns how many of them the model did not have and now has, and why others were refused.
// A run whose node's clock is ahead ended now.
func (m *Model) Merge(program ID, node growth.NodeName, runs []Run, now time.Time) (merged int, refused []error) {
	added := map[growth.PodUID]bool{}
	for _, r := range runs[:min(len(runs), MaxRunsPerNode)] {
		err := r.Validate()
		if err == nil && r.Namespace() != program.Namespace {
			err = fmt.Errorf("a run of %.100s is not one of %s", r.Job, program)
		}
		if err != nil {
			refused = append(refused, err)
			continue
		}
		r.Node = node
		if r.Ended.After(now) {
			r.Ended = now.UTC().Truncate(time.Second)
		}
		at := slices.IndexFunc(m.Runs, func(old Run) bool { return old.Pod == r.Pod })
		switch {
		case at < 0:
			m.Runs = append(m.Runs, r)
			added[r.Pod] = true
		case m.Runs[at].Ended.Before(r.Ended) && m.Runs[at].Node == node:
			m.Runs[at] = r
			added[r.Pod] = true
		}
	}
	slices.SortStableFunc(m.Runs, func(a, b Run) int { return b.Ended.Compare(a.Ended) })
	for len(m.Runs) > MaxRuns {
		m.drop()
	}
	for _, r := range m.Runs {
		if added[r.Pod] {
			merged++
		}
	}
	return merged, refused
}

// drop removes the oldest run of the node with the most runs.
func (m *Model) drop() {
	runs, most := map[growth.NodeName]int{}, 0
	for _, r := range m.Runs {
		runs[r.Node]++
		most = max(most, runs[r.Node])
	}
	for i, r := range slices.Backward(m.Runs) {
		if runs[r.Node] == most {
			m.Runs = slices.Delete(m.Runs, i, i+1)
			return
		}
	}
}

// Validate leaves out the impossible runs of a model from the bus, and those beyond MaxRuns. It returns the reasons.
func (m *Model) Validate() (refused []error) {
	m.Runs = slices.DeleteFunc(slices.Clone(m.Runs), func(r Run) bool {
		err := r.Validate()
		if err != nil {
			refused = append(refused, err)
		}
		return err != nil
	})
	m.Runs = m.Runs[:min(len(m.Runs), MaxRuns)]
	return refused
}

// ReadableBy reports whether jobs of a namespace may be predicted from the model of id.
func (m *Model) ReadableBy(id ID, namespace string) bool {
	if id.Namespace != Shared {
		return id.Namespace == namespace
	}
	return slices.Contains(m.Readers, namespace) || slices.Contains(m.Readers, "*")
}

// Usable returns the runs without those whose cost of a step or number of steps is far from the median of at least three
// runs with equal numbers.
func (m *Model) Usable() (usable []Run) {
	for i, r := range m.Runs {
		var costs, totals []float64
		for _, other := range m.Runs {
			if r.comparable(other) {
				costs = append(costs, float64(other.Whole.StepCost))
				totals = append(totals, other.steps())
			}
		}
		if len(costs) >= minVoters && (far(float64(r.Whole.StepCost), numerics.Median(costs)) || far(r.steps(), numerics.Median(totals))) {
			continue
		}
		usable = append(usable, m.Runs[i])
	}
	return usable
}

// Contradicts reports whether the cost of a run's steps is far from the one that a job with the given numbers measures. A
// measured cost of 0 is unknown.
func Contradicts(whole remaining.Profile, measured growth.Work, unit growth.Unit, numbers []string) bool {
	return whole.Unit == unit && measured > 0 && whole.StepCost > 0 && slices.Equal(whole.Numbers, numbers) &&
		far(float64(whole.StepCost), float64(measured))
}

// comparable reports whether two runs did the same work in the same unit.
func (r Run) comparable(other Run) bool {
	return r.Whole.Unit == other.Whole.Unit && slices.Equal(r.Whole.Numbers, other.Whole.Numbers)
}

// steps returns the number of steps of the run: the declared ones, or those on its curve.
func (r Run) steps() float64 { return cmp.Or(r.Whole.Total, r.Points[len(r.Points)-1][0]) }

// far reports whether two numbers differ by more than maxRatio.
func far(a, b float64) bool { return max(a, b) > maxRatio*min(a, b) }
