package programs_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/programs"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// FuzzMerge merges runs that anyone may have written on the bus. The model stays bounded, can be encoded, and predicts without a
// panic.
func FuzzMerge(f *testing.F) {
	seed, _ := json.Marshal([]programs.Run{ended("1", 0), ended("2", 1)})
	f.Add(seed, "node")
	f.Add([]byte(`[{"pod":"u","job":"team/a","points":[[1,2,1],[1,2,1]],"whole":{"total":1e12,"perStep":1e12}}]`), "")
	f.Add([]byte(`[{"pod":"u","job":"team/a","ended":"9999-01-01T00:00:00Z","points":[[0,-1e150,1]],"first":1e150}]`), "n")
	f.Fuzz(func(t *testing.T, text []byte, node string) {
		var runs []programs.Run
		if json.Unmarshal(text, &runs) != nil {
			return
		}
		m := programs.Model{Runs: []programs.Run{ended("own", 0)}}
		for i := range runs {
			m.Merge(id, growth.NodeName(node), runs[i:], day)
		}
		require.LessOrEqual(t, len(m.Runs), programs.MaxRuns)
		require.Empty(t, m.Validate())
		for _, r := range m.Runs {
			require.False(t, r.Ended.After(day.Add(time.Hour)))
		}
		encoded, err := json.Marshal(m)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(encoded, &m))
		predict(m.Usable())
	})
}

// predict uses runs as a node does.
func predict(runs []programs.Run) {
	own := ended("now", 0).Curve()
	own.Points = own.Points[:8]
	curves := make([]remaining.Curve, len(runs))
	for i, r := range runs {
		curves[i] = r.Curve()
		r.Whole.Predict(remaining.Progress{Total: 100}, []string{"100"}, 1)
	}
	own.WorkToTargetAmong(curves, growth.Minimize, remaining.Progress{Done: 40, Total: 1000, StepCost: 0.01})
}
