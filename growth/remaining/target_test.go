package remaining_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

func TestNeedAmong(t *testing.T) {
	// It has made 95 % of its way from 3 to 1 where the second half of that is 90 % over: 110 steps after its middle.
	const good = 1110.
	for name, tc := range map[string]struct {
		seen        float64 // of the other one
		own         float64 // of its own curve
		done, total float64
		want, most  float64 // in steps
		wrong       float64
	}{
		"it has gone as far":                       {2000, 300, 300, 2000, good - 300, 1.1*good - 300, 100},
		"it goes further":                          {4000, 300, 300, 2000, good - 300, 1.1*good - 300, 100},
		"without a report of its own":              {2000, 0, 300, 2000, good - 300, 1.1*good - 300, 60},
		"it is past":                               {2000, 1500, 1500, 2000, 0, 0, 0},
		"it may be past":                           {2000, 1150, 1150, 2000, 0, 71, 30},
		"it is worse than the other was":           {2000, 900, 1200, 2000, 100, 211, 30}, // as that was at 830
		"it is far worse":                          {2000, 100, 1200, 2000, good - 0.8*1200, 1.1*good - 0.8*1200, 30},
		"it is better":                             {2000, 1080, 900, 2000, good - 900, 1.1*good - 900, 30},
		"its end is before the second half begins": {2000, 50, 50, 500, 100, 115, 40}, // of half of the way
	} {
		t.Run(name, func(t *testing.T) {
			other, own := falling(10, tc.seen, silent), falling(10, tc.own, silent)
			at := remaining.Progress{Done: tc.done, Total: tc.total, StepCost: 2}
			others := []remaining.Curve{other}
			got, like, foretold := own.WorkToTargetAmong(others, growth.Minimize, at)
			require.True(t, got.Known)
			require.True(t, foretold)
			require.Equal(t, []int{0}, like)
			require.InDelta(t, 2*tc.want, float64(got.Likely), 2*tc.wrong)
			require.InDelta(t, 2*tc.most, float64(got.High), 2*tc.wrong)
			got, _, _ = own.WorkToTargetAmong(others, growth.Maximize, at)
			require.False(t, got.Known, "it goes the wrong way")
			at.StepCost = 0
			got, _, _ = own.WorkToTargetAmong(others, growth.Minimize, at)
			require.False(t, got.Known, "what a step costs is not known")
		})
	}
}

// Which of those alike another follows is not known: what they needed in the mean is closer than what the closest did.
func TestNeedIsTheMeanOfThoseAlike(t *testing.T) {
	exact, later := falling(10, 2000, silent), falling(10, 2000, silent)
	for i := range later.Points {
		later.Points[i].Step *= 1.1
	}
	risen := falling(10, 2000, silent)
	risen.First = new(float64)
	own, at := falling(10, 200, silent), remaining.Progress{Done: 200, Total: 2000, StepCost: 1}
	need := func(others ...remaining.Curve) float64 {
		got, _, foretold := own.WorkToTargetAmong(others, growth.Minimize, at)
		require.True(t, foretold)
		return float64(got.Likely)
	}
	require.Greater(t, need(later), 1.05*need(exact))
	require.InDelta(t, (need(exact)+need(later))/2, need(exact, risen, later), 1)
	_, like, _ := own.WorkToTargetAmong([]remaining.Curve{exact, risen, later}, growth.Minimize, at)
	require.Equal(t, []int{0, 2}, like, "one that rises says nothing")

	own = remaining.Curve{}
	at = remaining.Progress{Done: 0, Total: 2000, StepCost: 1}
	require.InDelta(t, (need(exact)+need(later))/2, need(exact, risen, later), 1, "before the first report all are as like, but one that rises")
}

// A job that has not come to this one's end tells by its fit what this one needs: that is a guess, like this one's own.
func TestWhoForetells(t *testing.T) {
	for name, tc := range map[string]struct {
		others   []remaining.Curve
		like     []int
		foretold bool
	}{
		"one that has come to the end":     {[]remaining.Curve{falling(10, 600, silent), falling(10, 2000, silent)}, []int{1}, true},
		"all that have come to the end":    {[]remaining.Curve{falling(10, 2000, silent), falling(10, 600, silent), falling(10, 2500, silent)}, []int{0, 2}, true},
		"one of those that are on the way": {[]remaining.Curve{falling(10, 600, silent), falling(10, 700, silent)}, []int{1}, false},
		"nobody":                           {nil, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			own := falling(10, 300, silent)
			need, like, foretold := own.WorkToTargetAmong(tc.others, growth.Minimize, remaining.Progress{Done: 300, Total: 2000, StepCost: 2})
			require.True(t, need.Known)
			require.Equal(t, tc.like, like)
			require.Equal(t, tc.foretold, foretold)
		})
	}
}

func TestNeedByAnothersFit(t *testing.T) {
	other := falling(10, 600, silent)
	for name, at := range map[string]remaining.Progress{
		"its end is not known":          {Done: 300, StepCost: 2},
		"the other has not gone as far": {Done: 300, Total: 2000, StepCost: 2},
	} {
		t.Run(name, func(t *testing.T) {
			own := falling(10, 300, silent)
			got, _, foretold := own.WorkToTargetAmong([]remaining.Curve{other}, growth.Minimize, at)
			require.True(t, got.Known)
			require.False(t, foretold)
			require.Equal(t, other.WorkToTarget(growth.Minimize, at), got)
		})
	}
}

// Whatever stands in a file of curves, what is said of a job is an interval or nothing.
func FuzzNeedAmong(f *testing.F) {
	f.Add([]byte{1, 9, 2, 8, 3, 7, 4, 6, 5, 5, 6, 4, 7, 3}, 3., 6., true)
	f.Add([]byte{1, 1, 1, 1}, 0., 0., false)
	f.Fuzz(func(t *testing.T, raw []byte, done, total float64, first bool) {
		var other remaining.Curve
		for i := 0; i+1 < len(raw); i += 2 {
			other.Points = append(other.Points, remaining.Point{Step: float64(raw[i]), Value: float64(int8(raw[i+1])), Reports: i % 7})
		}
		if first {
			value := done
			other.First = &value
		}
		var own remaining.Curve
		own.Add(1, 9)
		got, like, foretold := own.WorkToTargetAmong([]remaining.Curve{other, own}, growth.Minimize, remaining.Progress{Done: done, Total: total, StepCost: 1})
		require.False(t, foretold && len(like) == 0)
		if got.Known {
			require.True(t, 0 <= got.Low && got.Low <= got.Likely && got.Likely <= got.High, "%+v", got)
		}
	})
}
