package trial_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"testing/quick"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/trial"
)

// look is of a job with half of the node and a loss.
func look(batch int, samples growth.PerSecond, loss float64) trial.Observation {
	return trial.Observation{Reported: true, Samples: samples, Value: loss, HasValue: true, Share: .5, Batch: batch, Loaders: 2}
}

func times(n int, l trial.Observation) []trial.Observation {
	all := make([]trial.Observation, n)
	for i := range all {
		all[i] = l
	}
	return all
}

func script(parts ...[]trial.Observation) (all []trial.Observation) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// through takes looks one after another and returns the verdicts that are any, and the last reason.
func through(s trial.State, advised int, better growth.Direction, looks []trial.Observation) (trial.State, []trial.Verdict, string) {
	verdicts, last := []trial.Verdict{}, ""
	for _, l := range looks {
		next, verdict, reason := s.Next(l, advised, better)
		if s = next; verdict != trial.None {
			verdicts, last = append(verdicts, verdict), reason
		}
	}
	return s, verdicts, last
}

func TestTrials(t *testing.T) {
	before, silent := times(3, look(64, 100, 1)), trial.Observation{Share: .5}
	restarted := look(64, 100, 1)
	restarted.Restarted = true
	with := func(l trial.Observation, change func(*trial.Observation)) trial.Observation { change(&l); return l }
	offering, kept, back, withdrawn := trial.Offering, trial.Kept, trial.RolledBack, trial.Withdrawn
	for name, tc := range map[string]struct {
		looks []trial.Observation
		want  []trial.Verdict
		wish  int
		says  string
	}{
		"two looks are too few":                        {before[:2], []trial.Verdict{}, 0, ""},
		"three will do":                                {before, []trial.Verdict{offering}, 128, "128 is offered in place of 64"},
		"not with other loaders":                       {script(before[:2], times(1, with(before[0], func(l *trial.Observation) { l.Loaders = 3 }))), []trial.Verdict{}, 0, ""},
		"nor over a restart":                           {script(before[:2], times(1, restarted)), []trial.Verdict{}, 0, ""},
		"silence between does not matter":              {script(before[:2], times(9, silent), before[:1]), []trial.Verdict{offering}, 128, "offered"},
		"nothing to go back to":                        {times(9, look(0, 100, 1)), []trial.Verdict{}, 0, ""},
		"nothing to compare with":                      {times(9, trial.Observation{Reported: true, Batch: 64}), []trial.Verdict{}, 0, ""},
		"a job that has it already":                    {times(9, look(128, 100, 1)), []trial.Verdict{}, 0, ""},
		"an epoch may be long":                         {script(before, times(500, before[0])), []trial.Verdict{offering}, 128, "offered"},
		"one that stays as it was":                     {script(before, times(4, look(128, 100, 1))), []trial.Verdict{offering}, 128, "offered"},
		"is kept after four looks":                     {script(before, times(5, look(128, 100, 1))), []trial.Verdict{offering, kept}, 128, "128 stays: 100.0 samples/s, with 64 100.0"},
		"the first look is of both":                    {script(before, times(1, look(128, 100, 1)), times(1, look(128, 1, 9)), times(3, look(128, 100, 1))), []trial.Verdict{offering, kept}, 128, "stays"},
		"a tenth less is within the bound":             {script(before, times(5, look(128, 91, 1))), []trial.Verdict{offering, kept}, 128, "stays"},
		"more is not":                                  {script(before, times(5, look(128, 89, 1))), []trial.Verdict{offering, back}, 64, "89.0 samples/s, and at least 90.0 of the 100.0 before were to stay"},
		"unless the share has shrunk as well":          {script(before, times(5, with(look(128, 60, 1), func(l *trial.Observation) { l.Share = .3 }))), []trial.Verdict{offering, kept}, 128, "stays"},
		"a share that grew excuses nothing":            {script(before, times(5, with(look(128, 60, 1), func(l *trial.Observation) { l.Share = 1 }))), []trial.Verdict{offering, back}, 64, "60.0 samples/s"},
		"a loss that rises":                            {script(before, times(5, look(128, 200, 1.2))), []trial.Verdict{offering, back}, 64, "its metric went from 1 to 1.2"},
		"a loss that falls":                            {script(before, times(5, look(128, 200, .2))), []trial.Verdict{offering, kept}, 128, "stays"},
		"a loss that varied as much before":            {script([]trial.Observation{look(64, 100, 1), look(64, 100, 1.2), look(64, 100, .8)}, times(5, look(128, 100, 1.5))), []trial.Verdict{offering, kept}, 128, "stays"},
		"a loss that is not finite is not said":        {script(before, times(5, with(look(128, 100, 0), func(l *trial.Observation) { l.HasValue = false }))), []trial.Verdict{offering, back}, 64, "not reported any more"},
		"a job without a metric goes by its speed":     {script(times(3, with(before[0], func(l *trial.Observation) { l.HasValue = false })), times(5, look(128, 50, 0))), []trial.Verdict{offering, back}, 64, "50.0 samples/s"},
		"one without samples goes by its metric":       {script(times(3, look(64, 0, 1)), times(5, look(128, 0, 1))), []trial.Verdict{offering, kept}, 128, "stays"},
		"a restart while it is offered":                {script(before, times(1, restarted)), []trial.Verdict{offering, back}, 64, "restarted"},
		"a restart while it is tried":                  {script(before, times(2, look(128, 100, 1)), times(1, restarted)), []trial.Verdict{offering, back}, 64, "restarted"},
		"a job that falls silent":                      {script(before, times(2, look(128, 100, 1)), times(3, silent)), []trial.Verdict{offering, back}, 64, "reports nothing any more"},
		"two silent looks are none":                    {script(before, times(2, look(128, 100, 1)), times(2, silent), times(3, look(128, 100, 1))), []trial.Verdict{offering, kept}, 128, "stays"},
		"a job with a will of its own":                 {script(before, times(2, look(128, 100, 1)), times(1, look(32, 100, 1))), []trial.Verdict{offering, withdrawn}, 0, "by itself"},
		"what failed is never offered again":           {script(before, times(5, look(128, 10, 1)), times(99, look(64, 100, 1))), []trial.Verdict{offering, back}, 64, "is not tried again"},
		"the old size is wished for until it is there": {script(before, times(5, look(128, 10, 1)), times(99, look(128, 10, 1))), []trial.Verdict{offering, back}, 64, "goes back to 64"},
	} {
		t.Run(name, func(t *testing.T) {
			s, verdicts, reason := through(trial.State{}, 128, growth.Minimize, tc.looks)
			require.Equal(t, tc.want, verdicts)
			require.Equal(t, tc.wish, s.Requested)
			require.Contains(t, reason, tc.says)
		})
	}
}

func TestAMetricThatShouldRise(t *testing.T) {
	looks := script(times(3, look(64, 100, .8)), times(5, look(128, 100, .6)))
	_, verdicts, _ := through(trial.State{}, 128, growth.Maximize, looks)
	require.Equal(t, []trial.Verdict{trial.Offering, trial.RolledBack}, verdicts)
	_, verdicts, _ = through(trial.State{}, 128, growth.Minimize, looks)
	require.Equal(t, []trial.Verdict{trial.Offering, trial.Kept}, verdicts)
}

func TestWhatFailedBoundsWhatIsOffered(t *testing.T) {
	s, _, _ := through(trial.State{}, 128, growth.Minimize, script(times(3, look(64, 100, 1)), times(5, look(128, 10, 1)), times(4, look(64, 100, 1))))
	for advised, want := range map[int][]trial.Verdict{128: {}, 256: {}, 96: {trial.Offering}, 32: {trial.Offering}} {
		_, verdicts, _ := through(s, advised, growth.Minimize, times(2, look(64, 100, 1)))
		require.Equal(t, want, verdicts, advised)
	}
	s, _, _ = through(s, 32, growth.Minimize, script(times(3, look(64, 100, 1)), times(5, look(32, 10, 1)), times(4, look(64, 100, 1))))
	for advised, want := range map[int][]trial.Verdict{128: {}, 16: {}, 96: {trial.Offering}, 48: {trial.Offering}} {
		_, verdicts, _ := through(s, advised, growth.Minimize, times(2, look(64, 100, 1)))
		require.Equal(t, want, verdicts, advised)
	}
}

func TestAWishMayChangeUntilItIsFollowed(t *testing.T) {
	s, _, _ := through(trial.State{}, 128, growth.Minimize, times(3, look(64, 100, 1)))
	for name, advised := range map[string]int{"another size": 96, "none": 0} {
		t.Run(name, func(t *testing.T) {
			next, verdicts, _ := through(s, advised, growth.Minimize, times(2, look(64, 100, 1)))
			require.Equal(t, trial.Withdrawn, verdicts[0])
			require.Equal(t, advised == 96, next.InProgress())
			require.Equal(t, map[int]int{96: 96, 0: 64}[advised], next.Requested, "and what was wished for is taken back")
		})
	}
	tried, _, _ := through(s, 128, growth.Minimize, times(2, look(128, 100, 1)))
	_, verdicts, _ := through(tried, 96, growth.Minimize, times(3, look(128, 100, 1)))
	require.Equal(t, []trial.Verdict{trial.Kept}, verdicts, "what is tried is judged first")
}

// Any job, however it lies: a wish is what it had or what was advised, what failed never comes back, and the state can be
// written down at every look and taken up from there.
func TestTrialsOfAnyJob(t *testing.T) {
	type said struct {
		Batch, Loaders, Advised, Flags uint8
		Samples                        uint16
		Value                          float64
	}
	holds := func(saids []said) bool {
		s, failed := trial.State{}, map[int]bool{}
		for _, x := range saids {
			l := trial.Observation{
				Reported: x.Flags&3 > 0, Restarted: x.Flags&12 == 12, HasValue: x.Flags&16 > 0, Samples: growth.PerSecond(x.Samples),
				Batch: int(x.Batch % 4), Loaders: int(x.Loaders % 2), Value: math.Mod(x.Value, 1e300), Share: .5,
			}
			next, verdict, reason := s.Next(l, int(x.Advised%4), growth.Minimize)
			if verdict == trial.Offering && failed[next.To] || (verdict != trial.None) != (reason != "") {
				return false
			}
			if verdict == trial.RolledBack {
				failed[next.To] = true
			}
			content, err := json.Marshal(next)
			var back trial.State
			if err != nil || len(content) > 2048 || json.Unmarshal(content, &back) != nil || strings.Contains(string(content), "null") {
				return false
			}
			s = back
		}
		return s.Requested >= 0 && s.Requested < 4
	}
	require.NoError(t, quick.Check(holds, &quick.Config{MaxCount: 3000}))
}
