package node

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/remaining"
	"github.com/trellis-gpu/trellis/growth/wire"
)

func TestStepCounter_Add(t *testing.T) {
	for name, tc := range map[string]struct {
		reports []wire.Progress
		want    int64
	}{
		"increasing steps":                 {[]wire.Progress{{Step: 3}, {Step: 9}}, 9},
		"steps are numbered per epoch":     {[]wire.Progress{{Step: 10}, {Step: 3, Epoch: 1}, {Step: 10, Epoch: 1}, {Step: 2, Epoch: 2}}, 22},
		"steps are numbered across epochs": {[]wire.Progress{{Step: 10}, {Step: 13, Epoch: 1}}, 13},
		"a restart in a later epoch":       {[]wire.Progress{{Step: 10}, {Step: 3, Epoch: 1}, {Step: 1}}, 1},
		"a restart within an epoch":        {[]wire.Progress{{Step: 10, Epoch: 1}, {Step: 4, Epoch: 1}}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			var c stepCounter
			for _, p := range tc.reports {
				c.add(p)
			}
			require.Equal(t, tc.want, c.steps)
		})
	}
}

func TestStepCounter_ResumesFromACurve(t *testing.T) {
	for name, tc := range map[string]struct {
		curve remaining.Curve
		want  int64 // after a report of step 6 in the present epoch
	}{
		"steps are numbered across epochs": {remaining.Curve{Points: []remaining.Point{{Step: 2}, {Step: 5}}}, 6},
		"steps are numbered per epoch":     {remaining.Curve{Points: []remaining.Point{{Step: 2}, {Step: 25}}}, 26},
		"there is no curve":                {remaining.Curve{}, 6},
	} {
		t.Run(name, func(t *testing.T) {
			c := stepCounter{steps: 5, last: wire.Progress{Step: 5, Epoch: 2}}
			c.resume(tc.curve)
			c.add(wire.Progress{Step: 6, Epoch: 2})
			require.Equal(t, tc.want, c.steps)
		})
	}
}

func TestStepCost_Remaining(t *testing.T) {
	var c stepCost
	require.False(t, c.remaining(0, 100, growth.CoreSecond).Known, "there are no steps yet")
	c.add(0, 1)
	c.add(0, 90)
	c.add(10, 100)
	require.False(t, c.remaining(10, 100, growth.CoreSecond).Known, "the first observed steps are not measured")
	c.add(20, 120)
	got := c.remaining(20, 100, growth.CoreSecond)
	require.Equal(t, 160+exitWork, got.Likely)
	require.Less(t, got.Low, got.Likely)
	require.Greater(t, got.High, got.Likely)
	c.add(20, 121)
	c.add(20, 122)
	c.add(22, 124)
	require.InDelta(t, 78*2, float64(c.remaining(22, 100, growth.CoreSecond).Likely-exitWork), 1e-9, "CPU used without a step is counted with the next step")
	c.add(1, 5)
	require.InDelta(t, 99*2, float64(c.remaining(1, 100, growth.CoreSecond).Likely-exitWork), 1e-9, "a restart does not change the cost")
	var again stepCost
	mean, spread := c.perStep()
	again.resume(c.start(), mean, spread)
	require.Equal(t, c.start(), again.start())
	require.Equal(t, c.remaining(1, 100, growth.CoreSecond), again.remaining(1, 100, growth.CoreSecond), "resume restores the estimate")
	for i := range int64(60) {
		c.add(2+i, 5+4*growth.Seconds(1+i))
	}
	got = c.remaining(100, 200, growth.CoreSecond)
	require.InDelta(t, 400, float64(got.Likely-exitWork), 1, "the estimate follows the present cost")
	require.InDelta(t, 400, float64(got.Low), 5, "equal intervals make it certain")
	for i := range int64(30) {
		c.add(62+20*i, 300+40*growth.Seconds(i)) // served: two core-seconds per step
	}
	for i := range int64(30) {
		c.add(643+i, 1460+3*growth.Seconds(1+i)) // waiting: a step per interval, at three core-seconds
	}
	require.InDelta(t, 2.2, float64(c.remaining(700, 701, growth.CoreSecond).Likely-exitWork), 0.2, "intervals of a waiting job have little weight")
	require.False(t, c.remaining(5, 0, growth.CoreSecond).Known, "the end is unknown without a total")
}

// The first steps of a waiting job cost more than later ones, so the cost of a similar job's steps is the better
// prediction.
func TestStepCost_AssumesTheCostOfASimilarJob(t *testing.T) {
	var c stepCost
	c.assume(2, 100, false)
	mean, _ := c.perStep()
	require.Zero(t, mean, "no steps have been observed")
	c.add(4, 20)
	c.assume(2, 100, false)
	c.add(8, 40)
	require.Zero(t, c.measured(), "most of it is assumed")
	mean, spread := c.perStep()
	require.InDelta(t, 2.1, float64(mean), 0.05, "four steps at five core-seconds and a hundred at two")
	require.Greater(t, spread, growth.Work(0))
	c.assume(1, 1000, false)
	unchanged, _ := c.perStep()
	require.Equal(t, mean, unchanged, "the job's own steps have been measured")
	for i := range int64(20) {
		c.add(28+20*i, 40+100*growth.Seconds(1+i))
	}
	mean, _ = c.perStep()
	require.InDelta(t, 5, float64(mean), 0.1, "the steps of this job cost five core-seconds")
	require.Equal(t, mean, c.measured())
	require.InDelta(t, 5, float64(c.overall()), 1e-9)
}

// The cost on another node is doubtful until an interval of the job's own has been measured, whether that confirms it or not.
func TestStepCost_DoubtsAnotherNodeUntilMeasured(t *testing.T) {
	for name, cost := range map[string]growth.Seconds{"confirmed": 2, "contradicted": 50} {
		t.Run(name, func(t *testing.T) {
			var c stepCost
			c.add(4, 20)
			c.assume(2, 100, true)
			require.True(t, c.unconfirmed)
			c.add(4, 21)
			require.True(t, c.unconfirmed, "no step was made")
			c.add(8, 20+4*cost)
			require.False(t, c.unconfirmed)
		})
	}
}

func TestStepCost_Overall(t *testing.T) {
	var c stepCost
	require.Zero(t, c.overall())
	c.add(10, 30)
	require.Zero(t, c.overall(), "the CPU before the first observed steps is not counted")
	c.add(20, 50)
	c.add(120, 150)
	require.InDelta(t, 120./110, float64(c.overall()), 1e-9)
	c.add(5, 160) // the job restarted from an earlier checkpoint
	c.add(125, 280)
	mean, _ := c.perStep()
	require.Equal(t, mean, c.overall(), "after a restart the number of executed steps is unknown")
	require.InDelta(t, 30-10*float64(mean), float64(c.start()), 1e-9, "the restart keeps the startup cost")
}

func TestStepCost_Start(t *testing.T) {
	var c stepCost
	c.add(0, 30)
	require.Zero(t, c.start(), "there are no steps yet")
	c.add(5, 50)
	c.add(10, 60)
	require.Equal(t, growth.Work(40), c.start(), "50 core-seconds less five steps at two")
	c.add(20, 80)
	require.Equal(t, growth.Work(40), c.start())

	var late stepCost // most steps were made before the first observation
	late.add(700, 50)
	late.add(710, 70)
	require.Zero(t, late.start())
}

func TestStepCost_LeavesTimeToExitAfterTheLastStep(t *testing.T) {
	var c stepCost
	c.add(50, 50)
	c.add(98, 98)
	require.Equal(t, 2+exitWork, c.remaining(98, 100, growth.CoreSecond).Likely)
	c.add(100, 100)
	require.Equal(t, exitWork, c.remaining(100, 100, growth.CoreSecond).Likely)
	require.Zero(t, c.remaining(100, 100, growth.CoreSecond).Low, "the job may exit at once")
	c.add(100, 101.5)
	require.Equal(t, exitWork-1.5, c.remaining(100, 100, growth.CoreSecond).Likely)
	require.Equal(t, 1+exitWork, c.remaining(100, 101, growth.CoreSecond).Likely, "CPU used without a step does not reduce exitWork while steps remain")
	c.add(100, 130)
	require.True(t, c.remaining(100, 100, growth.CoreSecond).Known)
	require.Zero(t, c.remaining(100, 100, growth.CoreSecond).Likely, "exitWork is used up")
	c.add(101, 131)
	require.Zero(t, c.remaining(101, 100, growth.CoreSecond).Likely, "the job makes more steps than declared")
}
