package interference_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/interference"
)

func TestKindOf(t *testing.T) {
	kind := interference.KindOf("team-a", "run.py lstm")
	require.Equal(t, interference.Kind("4f80d6d8e23b45b7"), kind, "kinds are stored: a change of the function forgets them all")
	require.True(t, kind.Valid())
	require.NotEqual(t, kind, interference.KindOf("team-b", "run.py lstm"), "namespaces do not learn from one another")
	require.NotEqual(t, kind, interference.KindOf("team-a", "run.py vae"))
	require.NotEqual(t, interference.KindOf("a", "b c"), interference.KindOf("a\x00b", "c"))
	require.Empty(t, interference.KindOf("team-a", ""), "the program is unknown")
}

func TestKind_Valid(t *testing.T) {
	for kind, valid := range map[interference.Kind]bool{
		"":                  true,
		"0123456789abcdef":  true,
		"0123456789abcde":   false,
		"0123456789abcdef0": false,
		"0123456789ABCDEF":  false,
		"0123456789abcde/":  false,
	} {
		require.Equal(t, valid, kind.Valid(), "%q", kind)
	}
}

func TestActivityOf(t *testing.T) {
	for name, tc := range map[string]struct {
		step, load growth.Seconds
		want       growth.Share
	}{
		"no step time":                     {0, 0, 0},
		"a job that never waits":           {2, 0, 1},
		"a job that waits half of a step":  {2, 1, 0.5},
		"a job that waits all the time":    {2, 2, 0.02},
		"a wait that is longer than steps": {1, 30, 0.02},
		"a negative wait":                  {1, -1, 1},
	} {
		require.InDelta(t, float64(tc.want), float64(interference.ActivityOf(tc.step, tc.load)), 1e-12, name)
	}
}

func TestMeasurement_Validate(t *testing.T) {
	half := interference.Member{Kind: interference.KindOf("a", "x"), Activity: 0.5, Speed: 0.5, Deviation: 0.1}
	with := func(change func(*interference.Member)) []interference.Member {
		m := half
		change(&m)
		return []interference.Member{half, m}
	}
	for name, tc := range map[string]struct {
		set     []interference.Member
		seconds growth.Seconds
		want    string
	}{
		"a pair":                       {[]interference.Member{half, half}, 1, ""},
		"nothing but speeds":           {[]interference.Member{{Speed: 1}, {Speed: 1.5}}, 1, ""},
		"one job":                      {[]interference.Member{half}, 1, "a set of 1 jobs"},
		"nine jobs":                    {make([]interference.Member, 9), 1, "a set of 9 jobs"},
		"no time":                      {[]interference.Member{half, half}, 0, "0 seconds"},
		"an endless time":              {[]interference.Member{half, half}, growth.Seconds(math.Inf(1)), "+Inf seconds"},
		"a time that is no number":     {[]interference.Member{half, half}, growth.Seconds(math.NaN()), "NaN seconds"},
		"a foreign kind":               {with(func(m *interference.Member) { m.Kind = "lstm" }), 1, `kind "lstm"`},
		"an activity above 1":          {with(func(m *interference.Member) { m.Activity = 1.1 }), 1, "activity 1.1"},
		"a job that stands still":      {with(func(m *interference.Member) { m.Speed = 0 }), 1, "speed 0"},
		"a job that is twice as fast":  {with(func(m *interference.Member) { m.Speed = 2 }), 1, "speed 2"},
		"a speed that is no number":    {with(func(m *interference.Member) { m.Speed = math.NaN() }), 1, "speed NaN"},
		"a deviation below 0":          {with(func(m *interference.Member) { m.Deviation = -1 }), 1, "deviation -1"},
		"a deviation that is too much": {with(func(m *interference.Member) { m.Deviation = math.Inf(1) }), 1, "deviation +Inf"},
	} {
		t.Run(name, func(t *testing.T) {
			err := interference.Measurement{Set: tc.set, Seconds: tc.seconds}.Validate()
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.want)
		})
	}
}
