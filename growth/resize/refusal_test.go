package resize_test

import (
	"testing"
	"testing/quick"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/resize"
)

var now = time.Unix(1_700_000_000, 0)

func TestARefusalStands(t *testing.T) {
	refused := func(times int) (r resize.Refusal) {
		for range times {
			r = r.Refused(750, 500, now)
		}
		return r
	}
	stirred := func(r resize.Refusal) resize.Refusal { r.Changed = true; return r }
	for name, tc := range map[string]struct {
		refusal resize.Refusal
		after   time.Duration
		want    bool
	}{
		"none never does":                      {resize.Refusal{}, 0, false},
		"29 s after the first":                 {refused(1), 29 * time.Second, true},
		"not 30 s after it":                    {refused(1), 30 * time.Second, false},
		"a minute after the second":            {refused(2), 59 * time.Second, true},
		"and no longer":                        {refused(2), time.Minute, false},
		"a quarter of an hour after the tenth": {refused(10), 16*time.Minute - 1, true},
		"the wait is capped":                   {refused(1000), 16 * time.Minute, false},
		"a change ends the wait":               {stirred(refused(10)), 30 * time.Second, false},
		"but not at once":                      {stirred(refused(10)), 29 * time.Second, true},
		"a clock that went back ends it too":   {refused(10), -time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, tc.refusal.Active(now.Add(tc.after)))
		})
	}
}

func TestARefusalIsPast(t *testing.T) {
	raise, fall := resize.Refusal{}.Refused(750, 500, now), resize.Refusal{}.Refused(250, 500, now)
	require.False(t, raise.Resolved(500))
	require.False(t, raise.Resolved(400), "less was never refused")
	require.True(t, raise.Resolved(600))
	require.False(t, fall.Resolved(500))
	require.False(t, fall.Resolved(600))
	require.True(t, fall.Resolved(400))
	require.False(t, resize.Refusal{}.Resolved(400))
}

func TestDivide(t *testing.T) {
	none, more, less := resize.Refusal{}, resize.Refusal{}.Refused(750, 500, now), resize.Refusal{}.Refused(100, 500, now)
	for name, tc := range map[string]struct {
		shares   []growth.Share
		refusals []resize.Refusal
		after    time.Duration
		want     []growth.MilliCPU
		left     growth.MilliCPU
	}{
		"nothing refused":                          {[]growth.Share{.75, .25}, []resize.Refusal{none, none}, 0, []growth.MilliCPU{750, 250}, 1000},
		"what can not be had is left":              {[]growth.Share{.75, .25}, []resize.Refusal{more, none}, 0, []growth.MilliCPU{500, 250}, 750},
		"less than it has can be had":              {[]growth.Share{.4, .6}, []resize.Refusal{more, none}, 0, []growth.MilliCPU{400, 600}, 1000},
		"what was refused long ago is asked again": {[]growth.Share{.75, .25}, []resize.Refusal{more, none}, time.Hour, []growth.MilliCPU{750, 250}, 1000},
		"what can not be taken others do without":  {[]growth.Share{.2, .6, .2}, []resize.Refusal{less, none, none}, 0, []growth.MilliCPU{500, 375, 125}, 1000},
		"both at once":                             {[]growth.Share{.1, .9}, []resize.Refusal{less, more}, 0, []growth.MilliCPU{500, 500}, 1000},
		"two that keep too much":                   {[]growth.Share{.4, .5, .1}, []resize.Refusal{less, less, none}, 0, nil, 1000},
		"one that keeps makes another one keep":    {[]growth.Share{.3, .6, .1}, []resize.Refusal{less, resize.Refusal{}.Refused(100, 440, now), none}, 0, []growth.MilliCPU{500, 440, 60}, 1000},
		"nobody":                                   {nil, nil, 0, []growth.MilliCPU{}, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			got, left := resize.Divide(tc.shares, tc.refusals, 1000, 10, now.Add(tc.after))
			require.Equal(t, tc.want, got)
			require.Equal(t, tc.left, left)
		})
	}
}

// Whatever was refused: the pool is kept to, and nothing that was refused is asked for.
func TestDivideAlwaysKeepsToThePool(t *testing.T) {
	holds := func(parts []uint8, asked, inForce []uint8) bool {
		n, sum := min(len(parts), len(asked), len(inForce)), growth.Share(0)
		shares, refusals := make([]growth.Share, n), make([]resize.Refusal, n)
		for i := range n {
			sum += growth.Share(parts[i]) + 1
		}
		for i := range n {
			shares[i] = (growth.Share(parts[i]) + 1) / sum
			if asked[i] != inForce[i] && asked[i]%3 > 0 {
				refusals[i] = refusals[i].Refused(growth.MilliCPU(asked[i])+10, growth.MilliCPU(inForce[i])+10, now)
			}
		}
		requests, left := resize.Divide(shares, refusals, 2000, 10, now)
		if requests == nil {
			return n > 0
		}
		total := growth.MilliCPU(0)
		for i, r := range refusals {
			total += requests[i]
			if r.Times > 0 && ((r.Requested > r.InForce && requests[i] > r.InForce) || (r.Requested < r.InForce && requests[i] < r.InForce)) {
				return false
			}
		}
		return total <= left && left <= 2000
	}
	require.NoError(t, quick.Check(holds, &quick.Config{MaxCount: 5000}))
}
