package node

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/corun"
)

// A trial of 10 s in which both jobs would have had half of the time in turns.
func TestEndTrial_CountsWhatAJobLost(t *testing.T) {
	for name, tc := range map[string]struct {
		speeds [2]float64 // 0: not measured
		result string
		lost   growth.Seconds
		again  bool
	}{
		"both are faster":      {[2]float64{.9, .8}, "faster", 0, false},
		"one is faster":        {[2]float64{.9, .3}, "faster", 0, false},
		"as fast as in turns":  {[2]float64{.5, .5}, "slower", 0, false},
		"both are slower":      {[2]float64{.4, .3}, "slower", 2, false},
		"one was not measured": {[2]float64{.9, 0}, "unmeasured", 10, true},
		"neither was measured": {[2]float64{0, 0}, "unmeasured", 10, true},
	} {
		t.Run(name, func(t *testing.T) {
			n := New(Config{Interval: 10 * time.Second})
			n.now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			kinds := [2]corun.Kind{"a", "b"}
			n.corunTrial = &corunTrial{kinds: kinds, parts: [2]float64{.5, .5}, began: n.now}
			n.now = n.now.Add(10 * time.Second)
			for i, speed := range tc.speeds {
				n.speeds.Add(kinds[i], kinds[1-i:2-i], speed, 10)
			}
			n.endTrial()
			require.Equal(t, []string{tc.result}, n.out.Counts.Trials)
			require.InDelta(t, float64(tc.lost), float64(n.out.Counts.TrialLoss), 1e-6)
			require.InDelta(t, float64(tc.lost), n.trialTime.Seconds(), 1e-6)
			require.Equal(t, tc.again, len(n.triedAt) > 0)
			require.Nil(t, n.corunTrial)
		})
	}
}
