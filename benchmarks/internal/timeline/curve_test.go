package timeline_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/timeline"
)

func TestTimeline_Curve(t *testing.T) {
	for name, tc := range map[string]struct {
		steps []int64 // −1 for a reading without a value
		want  timeline.Curve
	}{
		"no reading":                     {nil, timeline.Curve{}},
		"no value":                       {[]int64{-1, -1}, timeline.Curve{}},
		"a step that stays counts once":  {[]int64{-1, 5, 5, 9}, timeline.Curve{Points: 2}},
		"the first step may be 0":        {[]int64{0, 3}, timeline.Curve{Points: 2}},
		"a step that becomes smaller":    {[]int64{5, 9, 2, 12}, timeline.Curve{Points: 3, Backwards: true}},
		"a value that is lost for a bit": {[]int64{5, -1, 7}, timeline.Curve{Points: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			var line timeline.Timeline
			for i, step := range tc.steps {
				job := timeline.Job{Name: "a", State: timeline.Running, Sampled: true, Reported: step >= 0, Step: max(step, 0)}
				line.Add(at(i, job))
			}
			require.Equal(t, tc.want, line.Curve("a"))
		})
	}
}
