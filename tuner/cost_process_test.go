package main

import (
	"bufio"
	"fmt"
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/daemon/processtest"
)

// tunerProcess is a tuner in a process of its own.
type tunerProcess struct {
	*processtest.Process
	health string
}

func startTuner(t *testing.T, program, etcd string) tunerProcess {
	health, err := processtest.FreeAddress()
	require.NoError(t, err)
	p, err := processtest.Start(processtest.Program{
		Path: program,
		Args: []string{"--listen=127.0.0.1:0", "--health-listen=" + health, "--etcd-endpoints=" + etcd},
		Dir:  t.TempDir(),
	})
	require.NoError(t, err)
	t.Cleanup(p.Stop)
	require.NoError(t, p.AwaitURL(t.Context(), "http://"+health+"/readyz"))
	return tunerProcess{p, health}
}

// cpu returns the CPU time that the process has used.
func (p tunerProcess) cpu(t *testing.T) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID()))
	require.NoError(t, err)
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')'):]))
	ticks := 0
	for _, field := range fields[12:14] {
		n, err := strconv.Atoi(field)
		require.NoError(t, err)
		ticks += n
	}
	return time.Duration(ticks) * time.Second / 100
}

// peak returns the peak of the resident memory, in MB.
func (p tunerProcess) peak(t *testing.T) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), "VmHWM:")
	require.True(t, found)
	kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	require.NoError(t, err)
	return kib * 1024 / 1e6
}

// passes are the durations of passes, as in the tuner's metrics.
type passes struct {
	count, sum float64
	// buckets are the numbers of passes up to the bounds, in order.
	bounds, buckets []float64
}

// passes returns the passes so far.
func (p tunerProcess) passes(t *testing.T) (all passes) {
	const name = "trellis_tuner_allocation_duration_seconds"
	answer, err := http.Get("http://" + p.health + "/metrics")
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	number := func(text string) float64 {
		value, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		require.NoError(t, err)
		return value
	}
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		series, value, _ := strings.Cut(lines.Text(), " ")
		switch bound, isBucket := strings.CutPrefix(series, name+`_bucket{le="`); {
		case isBucket:
			all.bounds = append(all.bounds, number(strings.TrimSuffix(bound, `"}`)))
			all.buckets = append(all.buckets, number(value))
		case series == name+"_sum":
			all.sum = number(value)
		case series == name+"_count":
			all.count = number(value)
		}
	}
	require.Positive(t, all.count)
	return all
}

// mean returns the mean of the passes since others, in milliseconds.
func (p passes) mean(since passes) float64 {
	return 1000 * (p.sum - since.sum) / (p.count - since.count)
}

// slowest returns an upper bound of the passes since others, in milliseconds: that of the first bucket that has them all.
func (p passes) slowest(since passes) float64 {
	for i, n := range p.buckets {
		if n-since.buckets[i] == p.count-since.count {
			return 1000 * p.bounds[i]
		}
	}
	return math.Inf(1)
}
