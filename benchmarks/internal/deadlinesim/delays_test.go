package deadlinesim

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDelays_CompareTheSameJobs(t *testing.T) {
	job := func(arrival, deadline, end float64) *running {
		return &running{Job: Job{Arrival: arrival, Deadline: deadline}, endedAt: end}
	}
	never := math.Inf(1)
	for name, tc := range map[string]struct {
		job, other *running
		want       Delays
	}{
		"the same end":                    {job(100, never, 200), job(100, never, 200), Delays{}},
		"up to 5 % of the time it took":   {job(100, never, 205), job(100, never, 200), Delays{Greatest: 5}},
		"later":                           {job(100, never, 220), job(100, never, 200), Delays{HarmedFree: 1, Mean: 20, Greatest: 20}},
		"earlier":                         {job(100, never, 150), job(100, never, 200), Delays{Sooner: 1}},
		"later, and still in time":        {job(100, 200, 220), job(100, 200, 200), Delays{Harmed: 1, Mean: 20, Greatest: 20}},
		"later, and too late":             {job(100, 110, 220), job(100, 110, 200), Delays{Harmed: 1, Lost: 1, Mean: 20, Greatest: 20}},
		"earlier, and in time":            {job(100, 60, 150), job(100, 60, 200), Delays{Sooner: 1, Won: 1}},
		"too late in both, later in this": {job(100, 60, 300), job(100, 60, 200), Delays{Harmed: 1, Mean: 100, Greatest: 100}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, delays([]*running{tc.job}, []*running{tc.other}))
		})
	}
}
