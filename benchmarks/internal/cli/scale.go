package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/trellis-gpu/trellis/benchmarks/internal/clustersim"
	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
)

const (
	// scaleSeconds and scaleMB are the goals of a run of a large cluster.
	scaleSeconds, scaleMB = 60, 1000
	// scalePart is the part of the cluster in a quick run.
	scalePart = 20
	scaleSeed = 1
)

// runScale runs the large cluster and writes what it took.
func (o *speconOptions) runScale(cmd *cobra.Command) error {
	schedule := clustersim.Scale()
	if o.quick {
		schedule = schedule.Divided(scalePart)
	}
	began := time.Now()
	large, err := uninterrupted(cmd.Context(), func() clustersim.Large { return clustersim.RunLarge(schedule, scaleSeed) })
	if err != nil {
		return err
	}
	took := time.Since(began)
	cpu, peak, err := used()
	if err != nil {
		return err
	}
	one := func(name, unit string, value float64) results.Goal {
		return results.Measured(name, unit, []float64{value})
	}
	summary := results.Summary{
		Name: "scale", Quick: o.quick, Commit: o.commit, Date: began.UTC().Truncate(time.Second), Machine: results.ThisMachine(nil),
		Seeds: []uint32{scaleSeed}, Command: results.Command("bench-scale", cmd.Flags(), "out", "scale"), Details: large,
		Settings: map[string]string{
			"jobs":  strconv.Itoa(schedule.Jobs),
			"nodes": fmt.Sprintf("%d with %d GPUs each", schedule.Workers, schedule.GPUs),
		},
		Goals: []results.Goal{
			one("time", "s", took.Seconds()).AtMost(scaleSeconds),
			one("CPU time", "s", cpu.Seconds()),
			one("peak memory", "MB", float64(peak)/1e6).AtMost(scaleMB),
			one("virtual time", "s", large.Makespan),
			one("mean completion, virtual time", "s", large.Completion),
			one("decisions of nodes", "decisions", float64(large.Counts.Decisions)),
			one("nodes scored for new jobs", "nodes", float64(large.Counts.Scores)),
			one("moves", "moves", float64(large.Moves)),
		},
	}
	summary.Took("all", took)
	err = errors.Join(results.Table(cmd.OutOrStdout(), summary.Goals), summary.Write(filepath.Join(o.out, "scale.json")))
	if missed := summary.Missed(); o.strict && len(missed) > 0 {
		err = errors.Join(err, fmt.Errorf("%d goals were missed: %q", len(missed), missed))
	}
	return err
}

// uninterrupted returns the result of a computation that cannot be stopped, or the error of ctx if it ends first: then the program ends,
// and the computation with it.
func uninterrupted[T any](ctx context.Context, compute func() T) (result T, err error) {
	done := make(chan T, 1)
	go func() { done <- compute() }()
	select {
	case result = <-done:
		return result, nil
	case <-ctx.Done():
		return result, ctx.Err()
	}
}

// used returns the CPU time and the peak memory, in bytes, of this process.
func used() (cpu time.Duration, peak int64, err error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, 0, fmt.Errorf("what this process has used: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), u.Maxrss << 10, nil // Linux counts it in KiB
}
