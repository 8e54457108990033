package resize_test

import (
	"testing"
	"testing/quick"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/resize"
)

func change(from, to growth.MilliCPU) resize.Change {
	return resize.Change{From: from, To: to, Distance: max(from-to, to-from)}
}

func TestWorth(t *testing.T) {
	exactly := func(c resize.Change) resize.Change { c.Exact = true; return c }
	for name, tc := range map[string]struct {
		pool    growth.MilliCPU
		changes []resize.Change
		want    []bool
	}{
		"what is so already is not made":         {1000, []resize.Change{exactly(change(500, 500))}, []bool{false}},
		"a thousandth or two are noise":          {1000, []resize.Change{change(500, 499), change(498, 500)}, []bool{false, false}},
		"less than 3 % is too little":            {2000, []resize.Change{change(1000, 971), change(900, 926)}, []bool{false, false}},
		"3 % are made":                           {2000, []resize.Change{change(1000, 970), change(900, 927)}, []bool{true, true}},
		"of a small request, 5m":                 {1000, []resize.Change{change(20, 24), change(24, 19), change(10, 15)}, []bool{false, true, true}},
		"at the floor, too":                      {1000, []resize.Change{change(10, 14), change(14, 10), change(15, 10)}, []bool{false, false, true}},
		"of a small pool, a hundredth":           {200, []resize.Change{change(20, 21), change(20, 22)}, []bool{false, true}},
		"of a tiny one, all":                     {60, []resize.Change{change(20, 21)}, []bool{true}},
		"a job's first resize is exact":          {1000, []resize.Change{exactly(change(500, 499)), change(498, 500)}, []bool{true, false}},
		"a container's part may be off alone":    {1000, []resize.Change{{From: 500, To: 500, Distance: 100}}, []bool{true}},
		"a rise that is made lowers who must":    {1000, []resize.Change{change(400, 397), change(400, 397), change(200, 206)}, []bool{true, true, true}},
		"and nobody else":                        {1003, []resize.Change{change(400, 397), change(400, 398), change(200, 206)}, []bool{true, false, true}},
		"rises that are not made need no room":   {1000, []resize.Change{change(500, 503), change(500, 497)}, []bool{false, false}},
		"a pool that has shrunk is kept to":      {996, []resize.Change{change(500, 498), change(500, 498)}, []bool{true, true}},
		"whatever others do, this comes to rest": {0, []resize.Change{change(500, 500), change(500, 503)}, []bool{false, false}},
		"nobody":                                 {0, nil, []bool{}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, resize.Select(tc.pool, tc.changes))
		})
	}
}

// Whatever stands and whatever was decided: requests that were decided within the pool are within it, and what was not made
// was too little.
func TestWorthKeepsToThePool(t *testing.T) {
	holds := func(from, to []uint8, room uint8) bool {
		var changes []resize.Change
		pool := growth.MilliCPU(room)
		for i := range min(len(from), len(to)) {
			changes = append(changes, change(growth.MilliCPU(from[i]), growth.MilliCPU(to[i])))
			pool += growth.MilliCPU(to[i])
		}
		sum := growth.MilliCPU(0)
		for i, made := range resize.Select(pool, changes) {
			c := changes[i]
			if made {
				sum += c.To
				continue
			}
			sum += c.From
			if c.Distance >= resize.Deadband(c.From, pool) && c.Distance > 0 {
				return false
			}
		}
		return sum <= pool
	}
	require.NoError(t, quick.Check(holds, &quick.Config{MaxCount: 5000}))
}

// A drift of one thousandth at a time is followed, at a distance.
func TestSmallChangesAddUp(t *testing.T) {
	stands, resizes := growth.MilliCPU(500), 0
	for to := stands; to > 300; to-- {
		if resize.Select(1000, []resize.Change{change(stands, to)})[0] {
			stands, resizes = to, resizes+1
		}
		require.Less(t, stands-to, growth.MilliCPU(15))
	}
	require.InDelta(t, 16, resizes, 3, "and not a resize for each")
}
