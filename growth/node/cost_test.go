package node

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/remaining"
	"github.com/trellis-gpu/trellis/growth/wire"
)

func TestStepCounter_Adds(t *testing.T) {
	for name, tc := range map[string]struct {
		reports []wire.Progress
		want    int64
	}{
		"steps":                                {[]wire.Progress{{Step: 3}, {Step: 9}}, 9},
		"steps that begin again in each epoch": {[]wire.Progress{{Step: 10}, {Step: 3, Epoch: 1}, {Step: 10, Epoch: 1}, {Step: 2, Epoch: 2}}, 22},
		"epochs with steps that go on":         {[]wire.Progress{{Step: 10}, {Step: 13, Epoch: 1}}, 13},
		"a restart":                            {[]wire.Progress{{Step: 10}, {Step: 3, Epoch: 1}, {Step: 1}}, 1},
		"a restart within an epoch":            {[]wire.Progress{{Step: 10, Epoch: 1}, {Step: 4, Epoch: 1}}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			var o stepCounter
			for _, p := range tc.reports {
				o.add(p)
			}
			require.Equal(t, tc.want, o.steps)
		})
	}
}

func TestStepCounter_ContinuesAfterARestartOfTheCoordinator(t *testing.T) {
	for name, tc := range map[string]struct {
		curve remaining.Curve
		want  int64 // after a report of step 6 of the epoch
	}{
		"of a job that counts on":        {remaining.Curve{Points: []remaining.Point{{Step: 2}, {Step: 5}}}, 6},
		"of one in its third epoch":      {remaining.Curve{Points: []remaining.Point{{Step: 2}, {Step: 25}}}, 26},
		"of one whose metric is unknown": {remaining.Curve{}, 6},
	} {
		t.Run(name, func(t *testing.T) {
			o := stepCounter{steps: 5, last: wire.Progress{Step: 5, Epoch: 2}}
			o.resume(tc.curve)
			o.add(wire.Progress{Step: 6, Epoch: 2})
			require.Equal(t, tc.want, o.steps)
		})
	}
}

func TestStepCost_Left(t *testing.T) {
	var c stepCost
	require.False(t, c.left(0, 100).Known, "nothing is known yet")
	c.add(0, 1)
	c.add(0, 90)
	c.add(10, 100)
	require.False(t, c.left(10, 100).Known, "what was before us, or before its first step, is not counted")
	c.add(20, 120)
	got := c.left(20, 100)
	require.Equal(t, 160+exitWork, got.Likely)
	require.Less(t, got.Low, got.Likely)
	require.Greater(t, got.High, got.Likely)
	c.add(20, 121)
	c.add(20, 122)
	c.add(22, 124)
	require.InDelta(t, 78*2, float64(c.left(22, 100).Likely-exitWork), 1e-9, "use without a step belongs to the next step")
	c.add(1, 5)
	require.InDelta(t, 99*2, float64(c.left(1, 100).Likely-exitWork), 1e-9, "a restart teaches nothing")
	var again stepCost
	mean, spread := c.perStep()
	again.resume(c.start(), mean, spread)
	require.Equal(t, c.start(), again.start())
	require.Equal(t, c.left(1, 100), again.left(1, 100), "a restarted coordinator knows it too")
	for i := range int64(60) {
		c.add(2+i, 5+4*growth.Seconds(1+i))
	}
	got = c.left(100, 200)
	require.InDelta(t, 400, float64(got.Likely-exitWork), 1, "it follows what steps cost now")
	require.InDelta(t, 400, float64(got.Low), 5, "and is sure of it")
	for i := range int64(30) {
		c.add(62+20*i, 300+40*growth.Seconds(i)) // served: two a step
	}
	for i := range int64(30) {
		c.add(643+i, 1460+3*growth.Seconds(1+i)) // waiting: a step now and then, at three
	}
	require.InDelta(t, 2.2, float64(c.left(700, 701).Likely-exitWork), 0.2, "what it costs while it waits says little")
	require.False(t, c.left(5, 0).Known, "no total, no end")
}

// One that is not served makes its first steps in a crowd, at more than they will cost: those of another job predict
// better, for a while.
func TestStepCost_AssumesTheCostOfASimilarJob(t *testing.T) {
	var c stepCost
	c.assume(2, 100)
	mean, _ := c.perStep()
	require.Zero(t, mean, "it has made none")
	c.add(4, 20)
	c.assume(2, 100)
	c.add(8, 40)
	mean, spread := c.perStep()
	require.InDelta(t, 2.1, float64(mean), 0.05, "four at five and a hundred at two")
	require.Greater(t, spread, growth.CoreSeconds(0))
	c.assume(1, 1000)
	again, _ := c.perStep()
	require.Equal(t, mean, again, "its own are known")
	for i := range int64(20) {
		c.add(28+20*i, 40+100*growth.Seconds(1+i))
	}
	mean, _ = c.perStep()
	require.InDelta(t, 5, float64(mean), 0.1, "these do cost five")
	require.InDelta(t, 5, float64(c.overall()), 1e-9)
}

func TestStepCost_Overall(t *testing.T) {
	var c stepCost
	require.Zero(t, c.overall())
	c.add(10, 30)
	require.Zero(t, c.overall(), "its start is no step's")
	c.add(20, 50)
	c.add(120, 150)
	require.InDelta(t, 120./110, float64(c.overall()), 1e-9)
	c.add(5, 160) // a checkpoint was lost
	c.add(125, 280)
	mean, _ := c.perStep()
	require.Equal(t, mean, c.overall(), "how often it made which step is not known any more")
	require.InDelta(t, 30-10*float64(mean), float64(c.start()), 1e-9, "its start is what it was")
}

func TestStepCost_Start(t *testing.T) {
	var c stepCost
	c.add(0, 30)
	require.Zero(t, c.start(), "it has made none")
	c.add(5, 50)
	c.add(10, 60)
	require.Equal(t, growth.CoreSeconds(40), c.start(), "50, less five steps of 2")
	c.add(20, 80)
	require.Equal(t, growth.CoreSeconds(40), c.start())

	var late stepCost // its first steps were not seen, or were another's before a checkpoint
	late.add(700, 50)
	late.add(710, 70)
	require.Zero(t, late.start())
}

func TestStepCost_LeavesTimeToExitAfterTheLastStep(t *testing.T) {
	var c stepCost
	c.add(50, 50)
	c.add(98, 98)
	require.Equal(t, 2+exitWork, c.left(98, 100).Likely)
	c.add(100, 100)
	require.Equal(t, exitWork, c.left(100, 100).Likely)
	require.Zero(t, c.left(100, 100).Low, "it may end at once")
	c.add(100, 101.5)
	require.Equal(t, exitWork-1.5, c.left(100, 100).Likely)
	require.Equal(t, 1+exitWork, c.left(100, 101).Likely, "what it has used without a step goes to its next")
	c.add(100, 130)
	require.True(t, c.left(100, 100).Known)
	require.Zero(t, c.left(100, 100).Likely, "who stays has no end that is known")
	c.add(101, 131)
	require.Zero(t, c.left(101, 100).Likely, "nor has who trains on")
}
