package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/daemon/etcdbus/etcdtest"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/tuner/internal/clustertest"
	"github.com/trellis-gpu/trellis/tuner/internal/config"
)

var (
	costFile  = flag.String("cost", "", "measure the cost of the tuner, and write it to this file")
	costQuick = flag.Bool("quick", false, "measure for a shorter time, fewer programs")
)

// The cluster, and the time between two samples of a job.
const (
	jobCount, nodeCount, programCount = 1000, 200, 10_000
	sampleInterval                    = 10 * time.Second
)

// TestCost measures the process of a tuner that is the leader, on a real etcd. A coordinator for each node is played by this test.
func TestCost(t *testing.T) {
	if *costFile == "" {
		t.Skip("`make bench-tuner` measures")
	}
	known, warmUp, duration := programCount, time.Minute, 2*time.Minute
	if *costQuick {
		known, warmUp, duration = 500, 12*time.Second, 12*time.Second
	}
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
	fmt.Printf("%d programs are on the bus\n", known)
	tuner := startTuner(t, server.URL())
	report := func(d time.Duration) {
		for end := time.Now().Add(d); time.Now().Before(end); {
			cluster.PutRound(t, sampleInterval, put)
		}
	}
	report(warmUp)
	fmt.Printf("measuring for %v\n", duration)
	before, start := tuner.cpu(t), time.Now()
	passed := tuner.passes(t)
	report(duration)
	used, elapsed := tuner.cpu(t)-before, time.Since(start)
	after := tuner.passes(t)

	writeCost(t, known, []costGoal{
		atMost("one pass, mean", after.mean(passed), "ms", 200),
		atMost("slowest pass, at most", after.slowest(passed), "ms", 200),
		atMost("CPU", 100*used.Seconds()/elapsed.Seconds(), "% of a core", 5),
		atMost("resident memory at most", tuner.peak(t), "MB", 100),
		atMost("models of programs on the bus", float64(onBus)/1e6, "MB", 64),
	})
}

// TestCost_Tuner is the process that TestCost measures.
func TestCost_Tuner(t *testing.T) {
	url := os.Getenv("TUNER_ETCD")
	if url == "" {
		t.Skip("TestCost starts it")
	}
	c := config.New(func(string) string { return "" })
	c.Listen, c.HealthListen = "127.0.0.1:0", os.Getenv("TUNER_HEALTH")
	c.Interval, c.Reallocate = config.DefaultInterval, "always"
	c.Etcd.Endpoints = []string{url}
	require.NoError(t, run(context.WithoutCancel(t.Context()), c, slog.New(slog.DiscardHandler)))
}
