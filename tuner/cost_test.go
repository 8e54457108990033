package main

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/daemon/etcdbus/etcdtest"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/tuner/internal/clustertest"
)

var (
	costFile  = flag.String("cost", "", "measure the cost of the tuner, and write it to this file")
	costOf    = flag.String("program", "", "the tuner to measure")
	costQuick = flag.Bool("quick", false, "measure for a shorter time, fewer programs")
)

// The cluster, and the time between two samples of a job.
const (
	jobCount, nodeCount, programCount = 1000, 200, 10_000
	sampleInterval                    = 10 * time.Second
)

// costRun is what a tuner has cost in one run. A pass is in milliseconds, CPU in percent of a core, sizes in MB.
type costRun struct{ pass, slowest, cpu, memory, onBus float64 }

// TestCost measures a tuner that is the leader, with the flags that ship, on a real etcd. This test plays the coordinators.
func TestCost(t *testing.T) {
	if *costFile == "" {
		t.Skip("`make bench-tuner` measures")
	}
	known, warmUp, duration, repeats := programCount, time.Minute, 2*time.Minute, 3
	if *costQuick {
		known, warmUp, duration, repeats = 500, 12*time.Second, 12*time.Second, 1
	}
	var runs []costRun
	for i := range repeats {
		fmt.Printf("run %d of %d: %v to warm up, then %v\n", i+1, repeats, warmUp, duration)
		require.True(t, t.Run(fmt.Sprint(i+1), func(t *testing.T) { runs = append(runs, measureCost(t, known, warmUp, duration)) }))
	}
	each := func(of func(costRun) float64) (values []float64) {
		for _, r := range runs {
			values = append(values, of(r))
		}
		return values
	}
	writeCost(t, known, []costGoal{
		median("one pass, mean", each(func(r costRun) float64 { return r.pass }), "ms", 200),
		worst("slowest pass, at most", each(func(r costRun) float64 { return r.slowest }), "ms", 200),
		median("CPU", each(func(r costRun) float64 { return r.cpu }), "% of a core", 5),
		worst("resident memory at most", each(func(r costRun) float64 { return r.memory }), "MB", 100),
		worst("models of programs on the bus", each(func(r costRun) float64 { return r.onBus }), "MB", 64),
	})
}

// measureCost measures one tuner, which has read a number of programs.
func measureCost(t *testing.T, known int, warmUp, duration time.Duration) costRun {
	server := etcdtest.New(t)
	cluster := clustertest.Cluster{Jobs: jobCount, Nodes: nodeCount, Programs: known}
	b := server.Open(10 * time.Second)
	put := func(key string, value []byte) {
		_, err := b.Put(t.Context(), key, value, bus.Persistent)
		require.NoError(t, err)
	}
	onBus := 0
	cluster.PutPrograms(t, func(key string, value []byte) {
		onBus += len(key) + len(value)
		put(key, value)
	})
	tuner := startTuner(t, *costOf, server.URL())
	report := func(d time.Duration) {
		for end := time.Now().Add(d); time.Now().Before(end); {
			cluster.PutRound(t, sampleInterval, put)
		}
	}
	report(warmUp)
	before, start, passed := tuner.cpu(t), time.Now(), tuner.passes(t)
	report(duration)
	used, elapsed, after := tuner.cpu(t)-before, time.Since(start), tuner.passes(t)
	return costRun{
		pass:    after.mean(passed),
		slowest: after.slowest(passed),
		cpu:     100 * used.Seconds() / elapsed.Seconds(),
		memory:  tuner.peak(t),
		onBus:   float64(onBus) / 1e6,
	}
}
