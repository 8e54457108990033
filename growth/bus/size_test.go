package bus_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/programs"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// What the tuner remembers of 10,000 programs, and what 500 nodes publish of them, takes at most 64 MB on the bus. Each program
// has as many runs as are kept, with noisy losses that were reported 2,000 times, and ten numbers.
func TestPrograms_TakeAtMost64MB(t *testing.T) {
	const count, nodes, perNode = 10_000, 500, 16
	dice := rand.New(rand.NewPCG(1, 2))
	var shapes []programs.Run // drawing each run would take minutes
	for range 100 {
		shapes = append(shapes, realistic(dice))
	}
	ended := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	draw := func(runs int, node growth.NodeName) (all []programs.Run) {
		for range runs {
			r := shapes[dice.IntN(len(shapes))]
			r.Pod = growth.PodUID(fmt.Sprintf("%08x-0000-4000-8000-%012x", dice.Uint32(), dice.Uint32()))
			r.Job = fmt.Sprintf("research-vision/resnet-search-%d-worker-0", dice.IntN(1e6))
			r.Node, r.Ended = node, ended
			all = append(all, r)
		}
		return all
	}
	id := func(i int) programs.ID { return programs.IDOf("research-vision", fmt.Sprint(i)) }
	bytes := 0
	add := func(key string, value []byte, err error) {
		require.NoError(t, err)
		bytes += len(key) + len(value)
	}
	for i := range count {
		value, err := bus.Encode(bus.ProgramModel{Model: programs.Model{Runs: draw(programs.MaxRuns, "gpu-node-0123.example.com"), Used: ended}})
		add(bus.ProgramKey(id(i)), value, err)
	}
	models := bytes
	for n := range nodes {
		for i := range perNode {
			value, err := bus.Encode(bus.ProgramRuns{Runs: draw(programs.MaxRunsPerNode, "")})
			add(bus.RunsKey(growth.NodeName(fmt.Sprintf("gpu-node-%04d.example.com", n)), id(i)), value, err)
		}
	}
	t.Logf("%d programs: %.1f MB of models and %.1f MB of runs", count, float64(models)/1e6, float64(bytes-models)/1e6)
	require.LessOrEqual(t, bytes, 64_000_000)
}

// realistic returns a run with a noisy loss.
func realistic(dice *rand.Rand) programs.Run {
	steps := 1000 * (1 + dice.IntN(200))
	var curve remaining.Curve
	for i := range 2000 {
		x := float64(i) / 2000
		curve.Add(x*float64(steps), 0.3+2.3*math.Exp(-5*x)+0.05*dice.NormFloat64())
	}
	numbers := []string{fmt.Sprint(steps), "128", "0.003", fmt.Sprint(dice.IntN(1000)), "4", "224", "0.9", "1e-4", "16", "8"}
	return programs.Run{Whole: remaining.Profile{
		Numbers: numbers, Total: float64(steps), StartupCost: growth.Work(5 * dice.Float64()), StepCost: growth.Work(dice.Float64()),
	}}.WithCurve(curve)
}
