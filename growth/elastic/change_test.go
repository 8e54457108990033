package elastic_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/elastic"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func TestLimits_Next(t *testing.T) {
	limits := elastic.DefaultLimits()
	advised := elastic.Seen{Workers: 1, Advised: 2, AdvisedFrom: 1, Range: elastic.Range{Low: 1, High: 4}}
	seen := func(change func(*elastic.Seen)) elastic.Seen { s := advised; change(&s); return s }
	saving := elastic.Change{ID: "a", From: 1, To: 2, State: elastic.Saving, Since: noon}
	scaling := elastic.Change{ID: "a", From: 1, To: 2, State: elastic.Scaling, Since: noon}
	changed := elastic.Change{ID: "a", From: 2, To: 1, State: elastic.Changed, Since: noon, Made: 1}
	for name, tc := range map[string]struct {
		change elastic.Change
		seen   elastic.Seen
		after  time.Duration
		want   elastic.State
		why    string
	}{
		"a recommendation":                      {elastic.Change{}, advised, 0, elastic.Saving, ""},
		"none":                                  {elastic.Change{}, seen(func(s *elastic.Seen) { s.Advised = 0 }), 0, "", ""},
		"the present number":                    {elastic.Change{}, seen(func(s *elastic.Seen) { s.Advised = 1 }), 0, "", ""},
		"a number outside of the range":         {elastic.Change{}, seen(func(s *elastic.Seen) { s.Advised = 5 }), 0, "", ""},
		"a number for one worker, of two":       {elastic.Change{}, seen(func(s *elastic.Seen) { s.Workers = 2; s.Advised = 4 }), 0, "", ""},
		"its user went further, or back":        {elastic.Change{}, seen(func(s *elastic.Seen) { s.Workers = 4 }), 0, "", ""},
		"a number of an earlier release":        {elastic.Change{}, seen(func(s *elastic.Seen) { s.AdvisedFrom = 0 }), 0, "", ""},
		"a suspended owner":                     {elastic.Change{}, seen(func(s *elastic.Seen) { s.Workers = 0 }), 0, "", ""},
		"a job that must not be changed":        {elastic.Change{}, seen(func(s *elastic.Seen) { s.Blocked = "it is paused" }), 0, "", ""},
		"soon after the last change":            {changed, advised, 9 * time.Minute, elastic.Changed, ""},
		"later":                                 {changed, advised, 10 * time.Minute, elastic.Saving, ""},
		"two changes were made":                 {elastic.Change{State: elastic.Changed, Made: 2, Since: noon}, advised, time.Hour, elastic.Changed, ""},
		"an abandoned change is tried again":    {elastic.Change{State: elastic.Abandoned, Since: noon}, advised, time.Hour, elastic.Saving, ""},
		"it saves":                              {saving, advised, time.Minute, elastic.Saving, ""},
		"it has saved":                          {saving, seen(func(s *elastic.Seen) { s.Saved = true }), time.Minute, elastic.Scaling, ""},
		"it cannot save":                        {saving, seen(func(s *elastic.Seen) { s.Failed = "disk full" }), 0, elastic.Abandoned, "the job could not save: disk full"},
		"it takes too long to save":             {saving, advised, 13 * time.Minute, elastic.Abandoned, "the job has not saved in 12m0s"},
		"it must not be changed any more":       {saving, seen(func(s *elastic.Seen) { s.Blocked = "it is paused" }), 0, elastic.Abandoned, "it is paused"},
		"its user was faster":                   {saving, seen(func(s *elastic.Seen) { s.Workers = 3 }), 0, elastic.Abandoned, "its number of workers was changed to 3 meanwhile"},
		"the owner has the old number":          {scaling, advised, time.Minute, elastic.Scaling, ""},
		"the owner has the new number":          {scaling, seen(func(s *elastic.Seen) { s.Workers = 2 }), time.Minute, elastic.Changed, ""},
		"the owner has another number":          {scaling, seen(func(s *elastic.Seen) { s.Workers = 4 }), 0, elastic.Abandoned, "its number of workers was changed to 4 meanwhile"},
		"the owner never gets it, for instance": {scaling, advised, 3 * time.Minute, elastic.Abandoned, "its owner did not take the new number in 2m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			next, changes := limits.Next(tc.change, tc.seen, "new", noon.Add(tc.after))
			require.Equal(t, tc.want, next.State)
			require.Equal(t, tc.why, next.Why)
			if !changes {
				require.Equal(t, tc.change, next)
			}
			free := tc.seen
			free.Blocked = ""
			begun, _ := limits.Next(tc.change, free, "new", noon.Add(tc.after))
			require.Equal(t, begun.ID == "new", limits.Due(tc.change, tc.seen, noon.Add(tc.after)), "what begins unless it is blocked")
		})
	}
}

// By any observations a job has at most as many changes as the limit, none without a checkpoint, and all within its range.
func TestLimits_BoundChanges(t *testing.T) {
	limits := elastic.DefaultLimits()
	for seed := range uint64(500) {
		dice := rand.New(rand.NewPCG(seed, 1))
		var c elastic.Change
		r := elastic.Range{Low: 1, High: 1 + dice.IntN(4)}
		workers, saved, scaled, now := 1, false, 0, noon
		for range 400 {
			now = now.Add(time.Duration(dice.IntN(300)) * time.Second)
			s := elastic.Seen{Workers: workers, Range: r, Advised: dice.IntN(8), AdvisedFrom: workers - dice.IntN(2), Saved: c.State == elastic.Saving && dice.IntN(3) == 0}
			if dice.IntN(10) == 0 {
				s.Blocked = "for a while"
			}
			if dice.IntN(10) == 0 {
				s.Failed = "disk full"
			}
			before := c
			c, _ = limits.Next(c, s, "new", now)
			if c.State == elastic.Saving && before.State != elastic.Saving {
				saved = false
			}
			saved = saved || s.Saved
			if c.State == elastic.Scaling && workers != c.To && dice.IntN(2) == 0 {
				require.True(t, saved)
				require.True(t, r.Low <= c.To && c.To <= r.High)
				workers = c.To
				scaled++
			}
			require.LessOrEqual(t, c.Made, limits.Changes)
		}
		require.LessOrEqual(t, scaled, limits.Changes)
	}
}
