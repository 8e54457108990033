package clustertest

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/goodput"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/loader"
	"github.com/trellis-gpu/trellis/growth/peaks"
	"github.com/trellis-gpu/trellis/growth/programs"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// Cluster is a cluster whose jobs train. They run in turn on its nodes.
type Cluster struct {
	Jobs, Nodes, Programs int
	// Rounds is the number of samples that each job has published.
	Rounds int64
}

// Put writes a record.
type Put func(key string, value []byte)

// PutRound writes the load of all nodes and a new sample of each job, spread over a time. 0 writes all at once.
func (c *Cluster) PutRound(t testing.TB, over time.Duration, put Put) {
	c.Rounds++
	began := time.Now()
	for n := range c.Nodes {
		write(t, put, bus.LoadKey(node(n)), *Load())
	}
	for i := range c.Jobs {
		write(t, put, bus.SampleKey(uid(i)), c.Sample(i))
		if over > 0 {
			time.Sleep(time.Until(began.Add(over * time.Duration(i+1) / time.Duration(c.Jobs))))
		}
	}
}

// Load is the load of each node.
func Load() *bus.NodeLoad {
	return &bus.NodeLoad{CPUPool: 8 * growth.Core, CPUUsed: 7 * growth.Core, LoaderBudget: 11, Policy: "harmless"}
}

// PutPrograms writes the models of all programs, with as many runs and points as they may have.
func (c *Cluster) PutPrograms(t testing.TB, put Put) {
	ended := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for i := range c.Programs {
		m := programs.Model{Used: ended}
		for k := range programs.MaxRuns {
			var curve remaining.Curve
			for step := range programs.MaxPoints {
				curve.Add(float64(100*step), .3+2.3*math.Exp(-float64(step+k)/7))
			}
			r := programs.Run{
				Pod: growth.PodUID(fmt.Sprintf("%08x-0000-4000-8000-%012x", i, k)), Job: fmt.Sprintf("research/search-%d-%d", i, k),
				Node: node(k), Ended: ended,
				Whole: remaining.Profile{Numbers: []string{"128", "0.003", fmt.Sprint(i)}, Total: 3200, StepCost: .1},
			}
			m.Runs = append(m.Runs, r.WithCurve(curve))
		}
		write(t, put, bus.ProgramKey(programs.IDOf("research", fmt.Sprint(i))), bus.ProgramModel{Model: m})
	}
}

// Sample is the sample of a job in the present round. All jobs may be tuned in every way.
func (c *Cluster) Sample(i int) bus.Sample {
	workers, batch := 1+i%4, 64
	truth := loader.Model{Parallel: growth.Seconds(.002 * float64(1+i%7)), Serial: 1e-4, Compute: .003}
	rate := truth.Rate(workers)
	s := bus.Sample{
		Pod:              growth.PodRef{Namespace: fmt.Sprintf("team-%d", i%20), Name: fmt.Sprintf("train-%d", i), UID: uid(i)},
		Node:             node(i % c.Nodes),
		GPUs:             []growth.GPU{growth.GPU(fmt.Sprintf("GPU-%d-%d", i%c.Nodes, i/c.Nodes%4))},
		Step:             100 * c.Rounds,
		TotalSteps:       1e6,
		Metric:           "loss",
		Value:            1 / float64(1+c.Rounds),
		Reported:         true,
		Growth:           growth.Growth(float64(i%10) / 10),
		Category:         growth.Progressing,
		State:            json.RawMessage(`{"version":1,"text":"` + strings.Repeat("curve", 800) + `"}`),
		CPUUsed:          growth.Core,
		Share:            .2,
		SamplesPerSecond: rate,
		StepSeconds:      growth.Seconds(float64(batch) / float64(rate)),
		Loaders:          &workers,
		BatchSize:        &batch,
		Tunable:          []string{string(gpushare.TuneLoaders), string(gpushare.TuneBatchSize), string(gpushare.TuneResources)},
		Batch:            batchState(batch, int(c.Rounds)),
		Program:          programs.IDOf("research", fmt.Sprint(i)),
	}
	s.LoadSeconds = max(s.StepSeconds-growth.Seconds(batch)*truth.Compute, s.StepSeconds/100)
	profile := peaks.Profile{Length: 60}
	for b := range peaks.MaxBlocks {
		profile.Blocks = append(profile.Blocks, peaks.Use{CPU: 900, Memory: growth.MiB(2000 + 10*b), GPUUsed: 4000})
	}
	s.Profile = &profile
	s.ETA = &bus.ETA{ETA: gpushare.ETA{Likely: time.Now().Add(time.Hour)}}
	return s
}

// batchState is what is known of a job's batch size after some intervals.
func batchState(batch, intervals int) *goodput.State {
	s := goodput.State{Range: goodput.Range{Default: batch, Min: 8, Max: 1024, Rule: goodput.SquareRoot}, MemoryLimit: 16 << 10}
	for range min(intervals, 20) {
		s.Noise = s.Noise.Add(goodput.Comparison{Small: 64, SmallSquared: 11, Large: 128, LargeSquared: 6})
		s = s.Observe(batch, .1, 4000)
	}
	return &s
}

func node(n int) growth.NodeName { return growth.NodeName(fmt.Sprintf("node-%03d", n)) }

func uid(i int) growth.PodUID {
	return growth.PodUID(fmt.Sprintf("%08x-0000-4000-8000-000000000000", i))
}

func write[T any, R bus.Record[T]](t testing.TB, put Put, key string, record T) {
	value, err := bus.Encode[T, R](record)
	require.NoError(t, err)
	put(key, value)
}
