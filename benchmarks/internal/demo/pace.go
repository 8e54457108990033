package demo

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

const (
	// paceKind and paceSteps are the job by which a machine is timed: some seconds.
	paceKind, paceSteps = "gru", 200
	// meant is what one of its steps takes on a core of the machine that the demo's jobs are made for of 2026 (AMD EPYC, two of its cores as a virtual machine): on that one
	// they run for as long as it takes to see each kind grow less.
	meant = 20 * time.Millisecond
	// noise is how many times as fast a machine may seem and still be taken for that one, fastest what is believed at most.
	noise, fastest = 1.25, 20
	// paceWithin is how long it may take.
	paceWithin = 2 * time.Minute
)

// Pace times a machine.
type Pace struct {
	// Python is the interpreter, Scripts the training programs by file name.
	Python  string
	Scripts map[string]string
}

// finished is the last line of a training program.
var finished = regexp.MustCompile(`(?m)^finished ` + paceKind + ` at step (\d+) after (\d+\.\d+) s`)

// Measure trains a short job and returns how many times as fast this machine is as the one that the demo's jobs are made for;
// 1 where it is not faster.
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
	job := exec.CommandContext(ctx, p.Python, "run.py", paceKind, "--steps", strconv.Itoa(paceSteps), "--batch-size", "64", "--workers", "0", "--progress", "log")
	job.Dir = folder
	output, err := job.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("a short training job, to see how fast this machine is: %w: %s", err, last(output, 500))
	}
	return faster(output)
}

// stretch gives jobs as many times their steps as this machine is faster than the one that they are made for: changes come
// with time, and a job that is over too soon has not seen them. It is done while nothing else runs.
func (d *Demo) stretch(ctx context.Context) error {
	if d.Pace == nil {
		return nil
	}
	return d.timed("timing this machine", func() error {
		times, err := d.Pace.Measure(ctx)
		if err == nil && times > 1 {
			d.notice("this machine trains %.1f times as fast as the one that the jobs are made for: each has %.1f times its steps", times, times)
			d.Jobs, d.Summary.Longer = d.Jobs.Longer(times), times
		}
		return err
	})
}

// faster reads from a job's output how long its steps took.
func faster(output []byte) (float64, error) {
	line := finished.FindSubmatch(output)
	if line == nil {
		return 0, fmt.Errorf("a short training job did not say how long it took: %s", last(output, 500))
	}
	steps, _ := strconv.ParseFloat(string(line[1]), 64)
	seconds, _ := strconv.ParseFloat(string(line[2]), 64)
	if seconds <= 0 || steps < 1 {
		return 0, fmt.Errorf("a short training job says that it took no time: %s", line[0])
	}
	if times := meant.Seconds() * steps / seconds; times > noise {
		return min(times, fastest), nil
	}
	return 1, nil
}

// last is the end of a text.
func last(text []byte, most int) []byte { return text[max(0, len(text)-most):] }
