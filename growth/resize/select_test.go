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

func TestSelect(t *testing.T) {
	exact := func(c resize.Change) resize.Change { c.Exact = true; return c }
	for name, tc := range map[string]struct {
		pool    growth.MilliCPU
		changes []resize.Change
		want    []bool
	}{
		"a request that is in force already":              {1000, []resize.Change{exact(change(500, 500))}, []bool{false}},
		"changes of 1m and 2m":                            {1000, []resize.Change{change(500, 499), change(498, 500)}, []bool{false, false}},
		"changes below 3 %":                               {2000, []resize.Change{change(1000, 971), change(900, 926)}, []bool{false, false}},
		"changes of 3 %":                                  {2000, []resize.Change{change(1000, 970), change(900, 927)}, []bool{true, true}},
		"small requests have a deadband of 5m":            {1000, []resize.Change{change(20, 24), change(24, 19), change(10, 15)}, []bool{false, true, true}},
		"the smallest requests have one too":              {1000, []resize.Change{change(10, 14), change(14, 10), change(15, 10)}, []bool{false, false, true}},
		"in a small pool the deadband is 1 % of it":       {200, []resize.Change{change(20, 21), change(20, 22)}, []bool{false, true}},
		"in a tiny pool there is none":                    {60, []resize.Change{change(20, 21)}, []bool{true}},
		"the first resize of a job is exact":              {1000, []resize.Change{exact(change(500, 499)), change(498, 500)}, []bool{true, false}},
		"only the division among containers differs":      {1000, []resize.Change{{From: 500, To: 500, Distance: 100}}, []bool{true}},
		"an increase forces small reductions":             {1000, []resize.Change{change(400, 397), change(400, 397), change(200, 206)}, []bool{true, true, true}},
		"only as many reductions as needed":               {1003, []resize.Change{change(400, 397), change(400, 398), change(200, 206)}, []bool{true, false, true}},
		"an increase that is not made forces none":        {1000, []resize.Change{change(500, 503), change(500, 497)}, []bool{false, false}},
		"the pool has shrunk":                             {996, []resize.Change{change(500, 498), change(500, 498)}, []bool{true, true}},
		"the pool is exceeded and nothing can be reduced": {0, []resize.Change{change(500, 500), change(500, 503)}, []bool{false, false}},
		"there are no jobs":                               {0, nil, []bool{}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, resize.Select(tc.pool, tc.changes))
		})
	}
}

// For any requests: if the decided requests are within the pool, so is the result, and every change that is not made is
// below the deadband.
func TestSelect_NeverExceedsThePool(t *testing.T) {
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

// A drift of 1m at a time is followed with a bounded distance.
func TestSelect_AccumulatesSmallChanges(t *testing.T) {
	inForce, resizes := growth.MilliCPU(500), 0
	for to := inForce; to > 300; to-- {
		if resize.Select(1000, []resize.Change{change(inForce, to)})[0] {
			inForce, resizes = to, resizes+1
		}
		require.Less(t, inForce-to, growth.MilliCPU(15))
	}
	require.InDelta(t, 16, resizes, 3, "fewer resizes than changes")
}
