package demo

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

const (
	// The machine's speed is measured with a job of paceKind and paceSteps, paceTimes times. The fastest run counts,
	// because other programs may use the machine.
	paceKind, paceSteps, paceTimes = "gru", 100, 3
	// meant is the time of a step on the machine that the demo's jobs are sized for, a core of an AMD EPYC of 2026.
	// There the growth of each kind falls before the job ends.
	meant = 20 * time.Millisecond
	// noise is the factor by which a machine's measured speed may differ and still count as that machine's.
	noise = 1.25
	// slowest and fastest bound the result. With half of their steps jobs are not converged.
	slowest, fastest = 0.6, 20
	// paceWithin bounds the measurement.
	paceWithin = 3 * time.Minute
)

// stretch scales the jobs' steps by the speed of this machine: a job that is too short ends before its changes, and
// on a slow machine a job runs long after its last change. It runs while nothing else does.
func (d *Demo) stretch(ctx context.Context) error {
	if d.Pace == nil {
		return nil
	}
	d.notice("timing this machine with a short training job")
	return d.timed("timing", func() error {
		times, err := d.Pace.Measure(ctx)
		if err != nil || times == 1 {
			return err
		}
		d.notice("this machine is faster or slower than the one that the jobs are made for: each has %.2g times its steps", times)
		d.Jobs, d.Summary.Stretch = d.Jobs.Stretched(times), times
		return nil
	})
}

// Pace measures the speed of a machine.
type Pace struct {
	// Python is the interpreter, Scripts the training programs by file name.
	Python  string
	Scripts map[string]string
}

// Measure trains a short job and returns the speed of this machine relative to the one that the demo's jobs are sized
// for; exactly 1 if they are about the same.
func (p Pace) Measure(ctx context.Context) (float64, error) {
	folder, err := os.MkdirTemp("", "trellis-pace-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	for name, text := range p.Scripts {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			return 0, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, paceWithin)
	defer cancel()
	best := time.Duration(math.MaxInt64)
	for range paceTimes {
		step, err := p.train(ctx, folder)
		if err != nil {
			return 0, fmt.Errorf("measuring the speed of this machine with a short training job: %w", err)
		}
		best = min(best, step)
	}
	return against(best), nil
}

// train returns the time of one step of the job.
func (p Pace) train(ctx context.Context, folder string) (time.Duration, error) {
	job := exec.CommandContext(ctx, p.Python, "run.py", paceKind, "--steps", strconv.Itoa(paceSteps), "--workers", "0", "--progress", "log")
	job.Dir = folder
	output, err := job.CombinedOutput()
	switch {
	case ctx.Err() != nil: // ctx has killed the job
		return 0, context.Cause(ctx)
	case err != nil:
		return 0, fmt.Errorf("%w: %s", err, last(output, 500))
	}
	return stepTime(output)
}

// finished matches the last line of a training program.
var finished = regexp.MustCompile(`(?m)^finished ` + paceKind + ` at step (\d+) after (\d+\.\d+) s`)

// stepTime reads the time of a step from a job's output.
func stepTime(output []byte) (time.Duration, error) {
	line := finished.FindSubmatch(output)
	if line == nil {
		return 0, fmt.Errorf("its output has no time: %s", last(output, 500))
	}
	steps, _ := strconv.ParseFloat(string(line[1]), 64)
	seconds, _ := strconv.ParseFloat(string(line[2]), 64)
	if seconds <= 0 || steps < 1 {
		return 0, fmt.Errorf("its output has a time of zero: %s", line[0])
	}
	return growth.Seconds(seconds / steps).Duration(), nil
}

// against returns the relative speed of a machine with this step time.
func against(step time.Duration) float64 {
	times := meant.Seconds() / step.Seconds()
	if times < noise && times > 1/noise {
		return 1
	}
	return min(max(times, slowest), fastest)
}

// last returns the end of a text.
func last(text []byte, most int) []byte { return text[max(0, len(text)-most):] }
