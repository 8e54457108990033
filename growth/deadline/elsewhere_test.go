package deadline_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/deadline"
)

// 600 s of a whole GPU are left, and 3 min are for the move.
func TestElsewhere(t *testing.T) {
	gpu := func(node growth.NodeName, jobs int) deadline.Place {
		return deadline.Place{Node: node, Capacity: growth.Core, Jobs: jobs}
	}
	for name, tc := range map[string]struct {
		toDeadline growth.Seconds
		usable     growth.MilliCPU
		places     []deadline.Place
		want       []deadline.Spare
	}{
		"no other node":                {2000, growth.Core, nil, nil},
		"an idle GPU":                  {2000, growth.Core, []deadline.Place{gpu("b", 0)}, []deadline.Spare{{Node: "b", Early: 1220}}},
		"half of a GPU":                {2000, growth.Core, []deadline.Place{gpu("b", 1)}, []deadline.Spare{{Node: "b", Early: 620}}},
		"a third of a GPU is too slow": {1900, growth.Core, []deadline.Place{gpu("b", 2)}, nil},
		"the job cannot use more":      {2000, 400, []deadline.Place{gpu("b", 0)}, []deadline.Spare{{Node: "b", Early: 320}}},
		"the best GPU of each node, the earliest node first": {2000, growth.Core,
			[]deadline.Place{gpu("c", 1), gpu("b", 1), gpu("b", 0), gpu("b", 1)},
			[]deadline.Spare{{Node: "b", Early: 1220}, {Node: "c", Early: 620}},
		},
		"at most three, ties by name": {2000, growth.Core,
			[]deadline.Place{gpu("d", 0), gpu("c", 0), gpu("b", 0), gpu("a", 0)},
			[]deadline.Spare{{Node: "a", Early: 1220}, {Node: "b", Early: 1220}, {Node: "c", Early: 1220}},
		},
		"it is unknown what the job can use": {2000, 0, []deadline.Place{gpu("b", 0)}, nil},
		"the deadline has passed":            {-5, growth.Core, []deadline.Place{gpu("b", 0)}, nil},
		"an invalid number of jobs":          {2000, growth.Core, []deadline.Place{gpu("b", -1)}, []deadline.Spare{{Node: "b", Early: 1220}}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, deadline.Elsewhere(600, tc.usable, tc.toDeadline, tc.places))
		})
	}
	for _, invalid := range []float64{math.NaN(), math.Inf(1), -1} {
		require.Empty(t, deadline.Elsewhere(growth.Work(invalid), growth.Core, 2000, []deadline.Place{gpu("b", 0)}))
	}
}
