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
	// paceKind and paceSteps are the job by which a machine is timed, paceTimes how often: the fastest counts, as others may use
	// the machine just then.
	paceKind, paceSteps, paceTimes = "gru", 100, 3
	// meant is what one of its steps takes on the machine that the demo's jobs are made for, a core of an AMD EPYC of 2026: there
	// they run for as long as it takes to see each kind grow less.
	meant = 20 * time.Millisecond
	// noise is how many times as fast or as slow a machine may seem and still be taken for that one.
	noise = 1.25
	// slowest and fastest are what is believed. With half of their steps jobs have not learned all that there is to learn.
	slowest, fastest = 0.6, 20
	// paceWithin is how long it may take.
	paceWithin = 3 * time.Minute
)

// stretch gives jobs as many times their steps as this machine is faster than the one that they are made for. Changes come
// with time: a job that is over too soon has not seen them, and on a slow machine all would have been seen long before the
// end. It is done while nothing else runs.
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

// Pace times a machine.
type Pace struct {
	// Python is the interpreter, Scripts the training programs by file name.
	Python  string
	Scripts map[string]string
}

// Measure trains a short job and returns how many times as fast this machine is as the one that the demo's jobs are made for;
// exactly 1 where there is hardly a difference.
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
			return 0, fmt.Errorf("a short training job, to see how fast this machine is: %w", err)
		}
		best = min(best, step)
	}
	return against(best), nil
}

// train is the time that a step of the job takes.
func (p Pace) train(ctx context.Context, folder string) (time.Duration, error) {
	job := exec.CommandContext(ctx, p.Python, "run.py", paceKind, "--steps", strconv.Itoa(paceSteps), "--workers", "0", "--progress", "log")
	job.Dir = folder
	output, err := job.CombinedOutput()
	switch {
	case ctx.Err() != nil: // the job was killed for it
		return 0, context.Cause(ctx)
	case err != nil:
		return 0, fmt.Errorf("%w: %s", err, last(output, 500))
	}
	return stepTime(output)
}

// finished is the last line of a training program.
var finished = regexp.MustCompile(`(?m)^finished ` + paceKind + ` at step (\d+) after (\d+\.\d+) s`)

// stepTime reads from a job's output how long its steps took.
func stepTime(output []byte) (time.Duration, error) {
	line := finished.FindSubmatch(output)
	if line == nil {
		return 0, fmt.Errorf("it did not say how long it took: %s", last(output, 500))
	}
	steps, _ := strconv.ParseFloat(string(line[1]), 64)
	seconds, _ := strconv.ParseFloat(string(line[2]), 64)
	if seconds <= 0 || steps < 1 {
		return 0, fmt.Errorf("it says that it took no time: %s", line[0])
	}
	return growth.Seconds(seconds / steps).Duration(), nil
}

// against is how many times as fast a machine is on which a step takes so long.
func against(step time.Duration) float64 {
	times := meant.Seconds() / step.Seconds()
	if times < noise && times > 1/noise {
		return 1
	}
	return min(max(times, slowest), fastest)
}

// last is the end of a text.
func last(text []byte, most int) []byte { return text[max(0, len(text)-most):] }
