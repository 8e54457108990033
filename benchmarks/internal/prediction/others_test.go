package prediction

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/qoredl"
	"github.com/trellis-gpu/trellis/growth"
)

const python = "/usr/bin/python3"

// linear has configurations whose time is proportional to the batch size.
func linear(configurations int) (rows []qoredl.Iteration) {
	for n := range configurations {
		batch := 10 + 3*n
		rows = append(rows, qoredl.Iteration{
			Configuration: qoredl.Configuration{Batch: batch, FLOPs: 1000, Params: 100},
			Allocation:    qoredl.Allocation{CPU: 1, Memory: 1},
			Hundred:       growth.Seconds(100 * batch),
		})
	}
	return rows
}

func TestEvaluateOthers(t *testing.T) {
	if exec.CommandContext(t.Context(), python, "-c", "import sklearn").Run() != nil {
		t.Skip(python + " has no scikit-learn")
	}
	rows := linear(30)
	o, err := EvaluateOthers(t.Context(), python, rows, 1)
	require.NoError(t, err)
	require.Len(t, o.Names, 12)
	for _, name := range o.Names {
		require.Len(t, o.Cases[name], len(rows), name)
	}
	require.Greater(t, explained(o.Cases["linear regression of seconds"]), .9)
	require.Less(t, meanError(o.Cases["5 nearest neighbours"]), 20.0)
	again, err := EvaluateOthers(t.Context(), python, rows, 1)
	require.NoError(t, err)
	require.Equal(t, o, again, "a seed gives one result")

	_, err = EvaluateOthers(t.Context(), "/bin/false", rows, 1)
	require.ErrorContains(t, err, "/bin/false")
}

func TestReadOthers(t *testing.T) {
	points := []point{{times: []float64{1, 2}}, {times: []float64{3}}}
	o, err := readOthers([]byte("a,b\n1,2\n3,4\n"), points)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, o.Names)
	require.Equal(t, []Case{{True: 1, Predicted: 2}, {True: 2, Predicted: 2}, {True: 3, Predicted: 4}}, o.Cases["b"])
	for name, out := range map[string]string{
		"nothing":         "",
		"a point less":    "a,b\n1,2\n",
		"a model less":    "a,b\n1,2\n3\n",
		"no number":       "a,b\n1,2\n3,x\n",
		"less than none":  "a,b\n1,2\n3,-4\n",
		"not a number":    "a,b\n1,2\n3,NaN\n",
		"an infinite one": "a,b\n1,2\n3,inf\n",
	} {
		_, err := readOthers([]byte(out), points)
		require.Error(t, err, name)
	}
}

func TestOtherGoals(t *testing.T) {
	truth := []Case{{True: 1, Predicted: 1}, {True: 3, Predicted: 3}}
	wrong := []Case{{True: 1, Predicted: 2}, {True: 3, Predicted: 2}}
	of := func(a, b []Case) Others {
		return Others{Names: []string{"b", "a"}, Cases: map[string][]Case{"a": a, "b": b}}
	}
	figures := map[string]float64{}
	for _, g := range OtherGoals([]Others{of(truth, wrong), of(wrong, wrong), of(truth, wrong)}) {
		require.Nil(t, g.Met, "a comparison has no goal")
		figures[g.Name] = g.Value
	}
	require.Equal(t, map[string]float64{"a: R²": 1, "a: mean error": 0, "b: R²": 0, "b: mean error": 66.67}, figures)
}
