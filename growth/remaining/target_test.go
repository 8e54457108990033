package remaining_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

func TestCurve_WorkToTargetAmong(t *testing.T) {
	// The loss falls from 3 to 1. It reaches 95 % when its second phase is 90 % complete, 110 steps after that phase's middle.
	const target = 1110.
	for name, tc := range map[string]struct {
		other       float64 // steps of the other curve
		own         float64 // steps of the job's own curve
		done, total float64
		want, high  float64 // in steps
		delta       float64 // in steps
	}{
		"the other curve reaches the job's end":                {2000, 300, 300, 2000, target - 300, 1.1*target - 300, 100},
		"the other curve is longer than the job":               {4000, 300, 300, 2000, target - 300, 1.1*target - 300, 100},
		"the job has no report of its own":                     {2000, 0, 300, 2000, target - 300, 1.1*target - 300, 60},
		"the job is past its target":                           {2000, 1500, 1500, 2000, 0, 0, 0},
		"the job may be past its target":                       {2000, 1150, 1150, 2000, 0, 71, 30},
		"the job is worse than the other was at the same step": {2000, 900, 1200, 2000, 100, 211, 30}, // the other's value at step 830
		"the job is far worse":                                 {2000, 100, 1200, 2000, target - 0.8*1200, 1.1*target - 0.8*1200, 30},
		"the job is better":                                    {2000, 1080, 900, 2000, target - 900, 1.1*target - 900, 30},
		"the job ends before the second phase":                 {2000, 50, 50, 500, 100, 115, 40}, // 95 % of the first phase
	} {
		t.Run(name, func(t *testing.T) {
			other, own := twoPhaseLoss(10, tc.other, noNoise), twoPhaseLoss(10, tc.own, noNoise)
			at := remaining.Progress{Done: tc.done, Total: tc.total, StepCost: 2}
			others := []remaining.Curve{other}
			got, similar, complete := own.WorkToTargetAmong(others, growth.Minimize, at)
			require.True(t, got.Known)
			require.True(t, complete)
			require.Equal(t, []int{0}, similar)
			require.InDelta(t, 2*tc.want, float64(got.Likely), 2*tc.delta)
			require.InDelta(t, 2*tc.high, float64(got.High), 2*tc.delta)
			got, _, _ = own.WorkToTargetAmong(others, growth.Maximize, at)
			require.False(t, got.Known, "the metric moves in the wrong direction")
			at.StepCost = 0
			got, _, _ = own.WorkToTargetAmong(others, growth.Minimize, at)
			require.False(t, got.Known, "the cost of a step is unknown")
		})
	}
}

// Similar curves do not show which of them a job will follow, so the estimate is their mean.
func TestCurve_WorkToTargetAmongIsTheMeanOfSimilarCurves(t *testing.T) {
	exact, slower := twoPhaseLoss(10, 2000, noNoise), twoPhaseLoss(10, 2000, noNoise)
	for i := range slower.Points {
		slower.Points[i].Step *= 1.1
	}
	risen := twoPhaseLoss(10, 2000, noNoise)
	risen.First = new(float64)
	own, at := twoPhaseLoss(10, 200, noNoise), remaining.Progress{Done: 200, Total: 2000, StepCost: 1}
	work := func(others ...remaining.Curve) float64 {
		got, _, complete := own.WorkToTargetAmong(others, growth.Minimize, at)
		require.True(t, complete)
		return float64(got.Likely)
	}
	require.Greater(t, work(slower), 1.05*work(exact))
	require.InDelta(t, (work(exact)+work(slower))/2, work(exact, risen, slower), 1)
	_, similar, _ := own.WorkToTargetAmong([]remaining.Curve{exact, risen, slower}, growth.Minimize, at)
	require.Equal(t, []int{0, 2}, similar, "a rising curve is ignored")

	own = remaining.Curve{}
	at = remaining.Progress{Done: 0, Total: 2000, StepCost: 1}
	require.InDelta(t, (work(exact)+work(slower))/2, work(exact, risen, slower), 1,
		"before the first report all curves but the rising one are equally similar")
}

// A curve that does not reach the job's end yields an extrapolation only.
func TestCurve_WorkToTargetAmongReportsCompleteCurves(t *testing.T) {
	for name, tc := range map[string]struct {
		others   []remaining.Curve
		similar  []int
		complete bool
	}{
		"one curve reaches the end": {[]remaining.Curve{twoPhaseLoss(10, 600, noNoise), twoPhaseLoss(10, 2000, noNoise)}, []int{1}, true},
		"two curves reach the end":  {[]remaining.Curve{twoPhaseLoss(10, 2000, noNoise), twoPhaseLoss(10, 600, noNoise), twoPhaseLoss(10, 2500, noNoise)}, []int{0, 2}, true},
		"no curve reaches the end":  {[]remaining.Curve{twoPhaseLoss(10, 600, noNoise), twoPhaseLoss(10, 700, noNoise)}, []int{1}, false},
		"there are no other curves": {nil, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			own := twoPhaseLoss(10, 300, noNoise)
			work, similar, complete := own.WorkToTargetAmong(tc.others, growth.Minimize, remaining.Progress{
				Done:     300,
				Total:    2000,
				StepCost: 2,
			})
			require.True(t, work.Known)
			require.Equal(t, tc.similar, similar)
			require.Equal(t, tc.complete, complete)
		})
	}
}

func TestCurve_WorkToTargetAmongExtrapolatesAnIncompleteCurve(t *testing.T) {
	other := twoPhaseLoss(10, 600, noNoise)
	for name, at := range map[string]remaining.Progress{
		"the job's end is unknown":                {Done: 300, StepCost: 2},
		"the other curve is shorter than the job": {Done: 300, Total: 2000, StepCost: 2},
	} {
		t.Run(name, func(t *testing.T) {
			own := twoPhaseLoss(10, 300, noNoise)
			got, _, complete := own.WorkToTargetAmong([]remaining.Curve{other}, growth.Minimize, at)
			require.True(t, got.Known)
			require.False(t, complete)
			require.Equal(t, other.WorkToTarget(growth.Minimize, at), got)
		})
	}
}

// For any stored curve, the estimate is a valid interval or unknown.
func FuzzCurve_WorkToTargetAmong(f *testing.F) {
	f.Add([]byte{1, 9, 2, 8, 3, 7, 4, 6, 5, 5, 6, 4, 7, 3}, 3., 6., true)
	f.Add([]byte{1, 1, 1, 1}, 0., 0., false)
	f.Fuzz(func(t *testing.T, raw []byte, done, total float64, first bool) {
		var other remaining.Curve
		for i := 0; i+1 < len(raw); i += 2 {
			other.Points = append(other.Points, remaining.Point{
				Step:    float64(raw[i]),
				Value:   float64(int8(raw[i+1])),
				Reports: i % 7,
			})
		}
		if first {
			value := done
			other.First = &value
		}
		var own remaining.Curve
		own.Add(1, 9)
		got, similar, complete := own.WorkToTargetAmong([]remaining.Curve{
			other,
			own,
		}, growth.Minimize, remaining.Progress{Done: done, Total: total, StepCost: 1})
		require.False(t, complete && len(similar) == 0)
		if got.Known {
			require.True(t, 0 <= got.Low && got.Low <= got.Likely && got.Likely <= got.High, "%+v", got)
		}
	})
}
