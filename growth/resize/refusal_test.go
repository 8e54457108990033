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

func TestRefusal_Active(t *testing.T) {
	refused := func(times int) (r resize.Refusal) {
		for range times {
			r = r.Refused(750, 500, now)
		}
		return r
	}
	changed := func(r resize.Refusal) resize.Refusal { r.Changed = true; return r }
	for name, tc := range map[string]struct {
		refusal resize.Refusal
		after   time.Duration
		want    bool
	}{
		"there was no refusal":                      {resize.Refusal{}, 0, false},
		"29 s after the first refusal":              {refused(1), 29 * time.Second, true},
		"30 s after the first refusal":              {refused(1), 30 * time.Second, false},
		"59 s after the second refusal":             {refused(2), 59 * time.Second, true},
		"a minute after the second refusal":         {refused(2), time.Minute, false},
		"just below 16 min after the tenth refusal": {refused(10), 16*time.Minute - 1, true},
		"16 min after the thousandth refusal":       {refused(1000), 16 * time.Minute, false},
		"a change shortens the backoff":             {changed(refused(10)), 30 * time.Second, false},
		"a change does not permit a retry at once":  {changed(refused(10)), 29 * time.Second, true},
		"the clock was set back":                    {refused(10), -time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, tc.refusal.Active(now.Add(tc.after)))
		})
	}
}

func TestRefusal_Resolved(t *testing.T) {
	increase, decrease := resize.Refusal{}.Refused(750, 500, now), resize.Refusal{}.Refused(250, 500, now)
	require.False(t, increase.Resolved(500))
	require.False(t, increase.Resolved(400), "a decrease was never refused")
	require.True(t, increase.Resolved(600))
	require.False(t, decrease.Resolved(500))
	require.False(t, decrease.Resolved(600))
	require.True(t, decrease.Resolved(400))
	require.False(t, resize.Refusal{}.Resolved(400))
}

// claims returns the claims of jobs with a minimum of 10m.
func claims(shares []growth.Share, refusals []resize.Refusal) []resize.Claim {
	all := make([]resize.Claim, len(shares))
	for i := range shares {
		all[i] = resize.Claim{Share: shares[i], Minimum: 10, Refusal: refusals[i]}
	}
	return all
}

func TestDivide_RespectsRefusals(t *testing.T) {
	none, increase, decrease := resize.Refusal{}, resize.Refusal{}.Refused(750, 500,
		now), resize.Refusal{}.Refused(100, 500, now)
	for name, tc := range map[string]struct {
		shares   []growth.Share
		refusals []resize.Refusal
		after    time.Duration
		want     []growth.MilliCPU
		left     growth.MilliCPU
	}{
		"nothing was refused":                       {[]growth.Share{.75, .25}, []resize.Refusal{none, none}, 0, []growth.MilliCPU{750, 250}, 1000},
		"a refused increase remains unused":         {[]growth.Share{.75, .25}, []resize.Refusal{increase, none}, 0, []growth.MilliCPU{500, 250}, 750},
		"a decrease after a refused increase":       {[]growth.Share{.4, .6}, []resize.Refusal{increase, none}, 0, []growth.MilliCPU{400, 600}, 1000},
		"an old refusal is retried":                 {[]growth.Share{.75, .25}, []resize.Refusal{increase, none}, time.Hour, []growth.MilliCPU{750, 250}, 1000},
		"a refused decrease reduces the others":     {[]growth.Share{.2, .6, .2}, []resize.Refusal{decrease, none, none}, 0, []growth.MilliCPU{500, 375, 125}, 1000},
		"a refused decrease and a refused increase": {[]growth.Share{.1, .9}, []resize.Refusal{decrease, increase}, 0, []growth.MilliCPU{500, 500}, 1000},
		"refused decreases exceed the pool":         {[]growth.Share{.4, .5, .1}, []resize.Refusal{decrease, decrease, none}, 0, nil, 1000},
		"one refused decrease triggers another":     {[]growth.Share{.3, .6, .1}, []resize.Refusal{decrease, resize.Refusal{}.Refused(100, 440, now), none}, 0, []growth.MilliCPU{500, 440, 60}, 1000},
		"there are no jobs":                         {nil, nil, 0, []growth.MilliCPU{}, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			got, left := resize.Divide(claims(tc.shares, tc.refusals), 1000, now.Add(tc.after))
			require.Equal(t, tc.want, got)
			require.Equal(t, tc.left, left)
		})
	}
}

// For any refusals, requests stay within the usable pool, and no refused request is made.
func TestDivide_NeverExceedsThePool(t *testing.T) {
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
		requests, left := resize.Divide(claims(shares, refusals), 2000, now)
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
