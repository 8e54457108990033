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

// observe returns the observation of a job with a share of 0.5, with the given batch size, throughput and loss.
func observe(batch int, samples growth.PerSecond, loss float64) trial.Observation {
	return trial.Observation{
		Reported: true,
		Samples:  samples,
		Value:    loss,
		HasValue: true,
		Share:    .5,
		Batch:    batch,
		Loaders:  2,
	}
}

func repeat(n int, l trial.Observation) []trial.Observation {
	all := make([]trial.Observation, n)
	for i := range all {
		all[i] = l
	}
	return all
}

func sequence(parts ...[]trial.Observation) (all []trial.Observation) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// applyAll passes observations to Next one after another. It returns the final state, all verdicts other than None, and
// the last reason.
func applyAll(s trial.State, advised int, better growth.Direction, observations []trial.Observation) (trial.State, []trial.Verdict, string) {
	verdicts, last := []trial.Verdict{}, ""
	for _, o := range observations {
		next, verdict, reason := s.Next(o, advised, better)
		s = next
		if verdict != trial.None {
			verdicts, last = append(verdicts, verdict), reason
		}
	}
	return s, verdicts, last
}

func TestState_Next(t *testing.T) {
	before, silent := repeat(3, observe(64, 100, 1)), trial.Observation{Share: .5}
	restarted := observe(64, 100, 1)
	restarted.Restarted = true
	with := func(l trial.Observation, change func(*trial.Observation)) trial.Observation { change(&l); return l }
	loaders := func(l trial.Observation, n int) trial.Observation { l.Loaders = n; return l }
	offering, kept, back, withdrawn := trial.Offering, trial.Kept, trial.RolledBack, trial.Withdrawn
	for name, tc := range map[string]struct {
		steps  []trial.Observation
		want   []trial.Verdict
		size   int
		reason string
	}{
		"two observations are too few":                       {before[:2], []trial.Verdict{}, 0, ""},
		"three observations are a baseline":                  {before, []trial.Verdict{offering}, 128, "128 is offered in place of 64"},
		"the loaders have changed":                           {sequence(before[:2], repeat(1, with(before[0], func(l *trial.Observation) { l.Loaders = 3 }))), []trial.Verdict{}, 0, ""},
		"the job has restarted":                              {sequence(before[:2], repeat(1, restarted)), []trial.Verdict{}, 0, ""},
		"silence in between does not matter":                 {sequence(before[:2], repeat(9, silent), before[:1]), []trial.Verdict{offering}, 128, "offered"},
		"the job never reported a batch size":                {repeat(9, observe(0, 100, 1)), []trial.Verdict{}, 0, ""},
		"the job reports neither samples nor metric":         {repeat(9, trial.Observation{Reported: true, Batch: 64}), []trial.Verdict{}, 0, ""},
		"the job runs with the size already":                 {repeat(9, observe(128, 100, 1)), []trial.Verdict{}, 0, ""},
		"a job that takes long to apply the size":            {sequence(before, repeat(500, before[0])), []trial.Verdict{offering}, 128, "offered"},
		"three observations of the trial are too few":        {sequence(before, repeat(4, observe(128, 100, 1))), []trial.Verdict{offering}, 128, "offered"},
		"the size is kept after four observations":           {sequence(before, repeat(5, observe(128, 100, 1))), []trial.Verdict{offering, kept}, 128, "128 stays: 100.0 samples/s, 100.0 with 64"},
		"the first observation is skipped":                   {sequence(before, repeat(1, observe(128, 100, 1)), repeat(1, observe(128, 1, 9)), repeat(3, observe(128, 100, 1))), []trial.Verdict{offering, kept}, 128, "stays"},
		"a loss of 9 % is within the tolerance":              {sequence(before, repeat(5, observe(128, 91, 1))), []trial.Verdict{offering, kept}, 128, "stays"},
		"a loss of 11 % is not":                              {sequence(before, repeat(5, observe(128, 89, 1))), []trial.Verdict{offering, back}, 64, "89.0 samples/s, below the limit of 90.0 (100.0 before)"},
		"a smaller share lowers the limit":                   {sequence(before, repeat(5, with(observe(128, 60, 1), func(l *trial.Observation) { l.Share = .3 }))), []trial.Verdict{offering, kept}, 128, "stays"},
		"a larger share does not raise it":                   {sequence(before, repeat(5, with(observe(128, 60, 1), func(l *trial.Observation) { l.Share = 1 }))), []trial.Verdict{offering, back}, 64, "60.0 samples/s"},
		"the metric gets worse":                              {sequence(before, repeat(5, observe(128, 200, 1.2))), []trial.Verdict{offering, back}, 64, "its metric went from 1 to 1.2"},
		"the metric gets better":                             {sequence(before, repeat(5, observe(128, 200, .2))), []trial.Verdict{offering, kept}, 128, "stays"},
		"the metric varied as much before":                   {sequence([]trial.Observation{observe(64, 100, 1), observe(64, 100, 1.2), observe(64, 100, .8)}, repeat(5, observe(128, 100, 1.5))), []trial.Verdict{offering, kept}, 128, "stays"},
		"the metric is not finite":                           {sequence(before, repeat(5, with(observe(128, 100, 0), func(l *trial.Observation) { l.HasValue = false }))), []trial.Verdict{offering, back}, 64, "no longer reported"},
		"a metric that is evaluated rarely":                  {sequence(before[:2], repeat(1, with(before[0], func(l *trial.Observation) { l.HasValue = false })), repeat(5, with(observe(128, 100, 0), func(l *trial.Observation) { l.HasValue = false }))), []trial.Verdict{offering, kept}, 128, "stays"},
		"a job without a metric is compared by throughput":   {sequence(repeat(3, with(before[0], func(l *trial.Observation) { l.HasValue = false })), repeat(5, observe(128, 50, 0))), []trial.Verdict{offering, back}, 64, "50.0 samples/s"},
		"a job without samples is compared by its metric":    {sequence(repeat(3, observe(64, 0, 1)), repeat(5, observe(128, 0, 1))), []trial.Verdict{offering, kept}, 128, "stays"},
		"a restart while the size is offered":                {sequence(before, repeat(1, restarted)), []trial.Verdict{offering, back}, 64, "restarted"},
		"a restart during the trial":                         {sequence(before, repeat(2, observe(128, 100, 1)), repeat(1, restarted)), []trial.Verdict{offering, back}, 64, "restarted"},
		"twelve silent observations end the trial":           {sequence(before, repeat(2, observe(128, 100, 1)), repeat(12, silent)), []trial.Verdict{offering, back}, 64, "and may be tried again: the job no longer reports anything"},
		"an evaluation is silent for less":                   {sequence(before, repeat(2, observe(128, 100, 1)), repeat(11, silent), repeat(3, observe(128, 100, 1))), []trial.Verdict{offering, kept}, 128, "stays"},
		"a pause says nothing about the size":                {sequence(before, repeat(2, observe(128, 100, 1)), repeat(99, trial.Observation{Paused: true}), repeat(3, observe(128, 100, 1))), []trial.Verdict{offering, kept}, 128, "stays"},
		"the job changes the size itself":                    {sequence(before, repeat(2, observe(128, 100, 1)), repeat(1, observe(32, 100, 1))), []trial.Verdict{offering, withdrawn}, 0, "by itself"},
		"a rejected size is never offered again":             {sequence(before, repeat(5, observe(128, 10, 1)), repeat(99, observe(64, 100, 1))), []trial.Verdict{offering, back}, 64, "is not tried again"},
		"the baseline follows while the size is offered":     {sequence(before, repeat(9, observe(64, 50, 1)), repeat(5, observe(128, 50, 1))), []trial.Verdict{offering, kept}, 128, "50.0 samples/s, 50.0 with 64"},
		"the loaders change while the size is offered":       {sequence(before, repeat(3, loaders(observe(64, 50, 1), 3)), repeat(5, loaders(observe(128, 10, 1), 3))), []trial.Verdict{offering, back}, 64, "is not tried again: 10.0 samples/s, below the limit of 45.0"},
		"the loaders change with the size":                   {sequence(before, repeat(5, loaders(observe(128, 10, 1), 3))), []trial.Verdict{offering, back}, 64, "128 goes back to 64, and may be tried again, because more than the size has changed: 10.0"},
		"the loaders change just before the size":            {sequence(before, repeat(1, loaders(before[0], 3)), repeat(5, loaders(observe(128, 10, 1), 3))), []trial.Verdict{offering, back}, 64, "may be tried again"},
		"the loaders change with the size, which is better":  {sequence(before, repeat(5, loaders(observe(128, 200, 1), 3))), []trial.Verdict{offering, kept}, 128, "stays"},
		"a size is tried again without the other change":     {sequence(before, repeat(5, loaders(observe(128, 10, 1), 3)), repeat(4, loaders(before[0], 3))), []trial.Verdict{offering, back, offering}, 128, "is offered"},
		"the old size is requested until the job reports it": {sequence(before, repeat(5, observe(128, 10, 1)), repeat(99, observe(128, 10, 1))), []trial.Verdict{offering, back}, 64, "goes back to 64"},
	} {
		t.Run(name, func(t *testing.T) {
			s, verdicts, reason := applyAll(trial.State{}, 128, growth.Minimize, tc.steps)
			require.Equal(t, tc.want, verdicts)
			require.Equal(t, tc.size, s.Requested)
			require.Contains(t, reason, tc.reason)
		})
	}
}

func TestState_NextRespectsTheDirection(t *testing.T) {
	observations := sequence(repeat(3, observe(64, 100, .8)), repeat(5, observe(128, 100, .6)))
	_, verdicts, _ := applyAll(trial.State{}, 128, growth.Maximize, observations)
	require.Equal(t, []trial.Verdict{trial.Offering, trial.RolledBack}, verdicts)
	_, verdicts, _ = applyAll(trial.State{}, 128, growth.Minimize, observations)
	require.Equal(t, []trial.Verdict{trial.Offering, trial.Kept}, verdicts)
}

func TestState_NextNeverOffersARejectedSize(t *testing.T) {
	s, _, _ := applyAll(trial.State{}, 128, growth.Minimize,
		sequence(repeat(3, observe(64, 100, 1)), repeat(5, observe(128, 10, 1)), repeat(4, observe(64, 100, 1))))
	for advised, want := range map[int][]trial.Verdict{128: {}, 256: {}, 96: {trial.Offering}, 32: {trial.Offering}} {
		_, verdicts, _ := applyAll(s, advised, growth.Minimize, repeat(2, observe(64, 100, 1)))
		require.Equal(t, want, verdicts, advised)
	}
	s, _, _ = applyAll(s, 32, growth.Minimize,
		sequence(repeat(3, observe(64, 100, 1)), repeat(5, observe(32, 10, 1)), repeat(4, observe(64, 100, 1))))
	for advised, want := range map[int][]trial.Verdict{128: {}, 16: {}, 96: {trial.Offering}, 48: {trial.Offering}} {
		_, verdicts, _ := applyAll(s, advised, growth.Minimize, repeat(2, observe(64, 100, 1)))
		require.Equal(t, want, verdicts, advised)
	}
}

func TestState_NextFollowsChangedAdviceWhileOffered(t *testing.T) {
	s, _, _ := applyAll(trial.State{}, 128, growth.Minimize, repeat(3, observe(64, 100, 1)))
	for name, advised := range map[string]int{"another size": 96, "none": 0} {
		t.Run(name, func(t *testing.T) {
			next, verdicts, _ := applyAll(s, advised, growth.Minimize, repeat(2, observe(64, 100, 1)))
			require.Equal(t, trial.Withdrawn, verdicts[0])
			require.Equal(t, advised == 96, next.Phase == trial.Offered)
			require.False(t, next.InProgress())
			require.Equal(t, map[int]int{
				96: 96,
				0:  64,
			}[advised], next.Requested, "the requested size follows the advice")
		})
	}
	tried, _, _ := applyAll(s, 128, growth.Minimize, repeat(2, observe(128, 100, 1)))
	require.True(t, tried.InProgress())
	_, verdicts, _ := applyAll(tried, 96, growth.Minimize, repeat(3, observe(128, 100, 1)))
	require.Equal(t, []trial.Verdict{trial.Kept}, verdicts, "a trial in progress is finished first")
}

// For any sequence of observations: the requested size is the job's own or an advised one, a rejected size is not
// offered again, and the state survives JSON after each step.
func TestState_NextHoldsItsInvariants(t *testing.T) {
	type input struct {
		Batch, Loaders, Advised, Flags uint8
		Samples                        uint16
		Value                          float64
	}
	holds := func(inputs []input) bool {
		s, failed := trial.State{}, map[int]bool{}
		for _, x := range inputs {
			l := trial.Observation{
				Reported: x.Flags&3 > 0, Restarted: x.Flags&12 == 12, HasValue: x.Flags&16 > 0, Samples: growth.PerSecond(x.Samples),
				Batch: int(x.Batch % 4), Loaders: int(x.Loaders % 2), Value: math.Mod(x.Value, 1e300), Share: .5,
			}
			next, verdict, reason := s.Next(l, int(x.Advised%4), growth.Minimize)
			if verdict == trial.Offering && failed[next.To] || (verdict != trial.None) != (reason != "") {
				return false
			}
			if verdict == trial.RolledBack && (next.RejectedFrom == next.To || next.RejectedUpTo == next.To) {
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

// A job that moves while it tries a size starts again with the earlier one, and may try the size there.
func TestState_Moved(t *testing.T) {
	before := repeat(3, observe(64, 100, 1))
	for name, tc := range map[string]struct {
		steps     []trial.Observation
		requested int
	}{
		"without a trial":                {before[:2], 0},
		"while the size is offered":      {before, 64},
		"during the trial":               {sequence(before, repeat(3, observe(128, 100, 1))), 64},
		"with a size that has been kept": {sequence(before, repeat(5, observe(128, 100, 1))), 128},
		"on its way back":                {sequence(before, repeat(5, observe(128, 10, 1))), 64},
	} {
		t.Run(name, func(t *testing.T) {
			s, _, _ := applyAll(trial.State{}, 128, growth.Minimize, tc.steps)
			moved := s.Moved()
			require.Equal(t, tc.requested, moved.Requested)
			require.Equal(t, trial.Idle, moved.Phase)
			require.Equal(t, s.RejectedFrom, moved.RejectedFrom, "only what was found out stays")
		})
	}
}
