package batchsize

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/goodput"
)

func TestSimulate(t *testing.T) {
	for _, c := range Curves() {
		t.Run(c.Name, func(t *testing.T) {
			for seed := range uint64(3) {
				s := c.Simulate(seed + 1)
				require.LessOrEqual(t, s.Points, goodput.MaxPoints)
				require.True(t, s.Size >= c.Range.Min && s.Size <= c.Range.Max, "%d", s.Size)
				require.GreaterOrEqual(t, s.OfBest, min(s.OwnOfBest, .9)-.1, "hardly worse than the job's own size")
				require.Equal(t, s, c.Simulate(seed+1), "a seed gives one result")
			}
		})
	}
}

func TestCurve_Best(t *testing.T) {
	for _, c := range Curves() {
		size, most := c.Best()
		require.InDelta(t, c.Goodput(size), most, 1e-12)
		require.GreaterOrEqual(t, most, c.Goodput(c.Range.Default))
	}
}

func TestFixedSizes(t *testing.T) {
	require.Equal(t, []int{8, 12, 16, 24, 32}, fixedSizes(goodput.Range{Min: 8, Max: 32}))
	require.Contains(t, fixedSizes(realRange), realRange.Default)
	require.Contains(t, fixedSizes(realRange), realRange.Max)
}

func TestReal_Part(t *testing.T) {
	r := Real{Fixed: []Fixed{
		{Batch: 8, SamplesPerSecond: []float64{100, 100, 10}, Efficiency: 1, Searched: 1},
		{Batch: 16, SamplesPerSecond: []float64{150, 300, 200}, Efficiency: .75, Searched: .4},
		{Batch: 32, SamplesPerSecond: []float64{999, 1, 1}, Efficiency: .5, Searched: .5},
	}}
	require.Equal(t, 16, r.best(Fixed.efficiency).Batch)
	require.InDelta(t, 100*100/225.0, r.part(8, Fixed.efficiency), 1e-9, "the round in the middle of three")
	require.InDelta(t, 100, r.part(16, Fixed.efficiency), 1e-9)
	require.Equal(t, 8, r.best(Fixed.searched).Batch, "less noise: smaller sizes are worth more")
}

func TestRealGoals(t *testing.T) {
	search := func(rates ...float64) Real {
		r := Real{Own: 8, Size: 16, Best: 32, Points: 3}
		for i, size := range []int{8, 16, 32} {
			r.Fixed = append(r.Fixed, Fixed{Batch: size, SamplesPerSecond: rates[3*i : 3*i+3], Efficiency: 1, Searched: 1})
		}
		return r
	}
	goals := RealGoals("mlp", []Real{
		search(50, 40, 10, 90, 97, 94, 100, 100, 100),
		search(50, 60, 99, 96, 97, 10, 100, 100, 100),
		search(50, 60, 70, 99, 99, 99, 100, 100, 100),
	})
	require.Equal(t, "mlp: of the best fixed size", goals[1].Name)
	require.Equal(t, []float64{96, 94, 99}, []float64{goals[1].Value, goals[1].Low, goals[1].High})
	require.True(t, *goals[1].Met)
	require.Equal(t, 60.0, goals[0].Value)
	require.Equal(t, 96.0, goals[2].Value)
}

func TestReadTurns(t *testing.T) {
	periods, err := readPeriods(strings.NewReader("without,with\n0.010,0.011\n"))
	require.NoError(t, err)
	require.Equal(t, []Period{{.010, .011}}, periods)
	require.InDelta(t, 10, GradientGoals("mlp", periods)[0].Value, 1e-9)
	for name, text := range map[string]string{
		"nothing":      "",
		"no row":       "without,with\n",
		"other names":  "a,b\n1,1\n",
		"no number":    "without,with\n1,x\n",
		"no time":      "without,with\n1,0\n",
		"not finite":   "without,with\n1,Inf\n",
		"not a number": "without,with\nNaN,1\n",
	} {
		_, err := readPeriods(strings.NewReader(text))
		require.Error(t, err, name)
	}
}
