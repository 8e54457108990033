package enforce

import (
	"context"
	"errors"
	"time"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/cgroup"
	"github.com/trellis-gpu/trellis/growth"
)

// Scales read and write the weights of pods' cgroups.
type Scales interface {
	Weights
	Weigh(pod growth.PodUID, request growth.MilliCPU) error
}

// Direct writes weights into cgroups itself, for clusters whose pods can not be resized in place. Requests, and with them
// the scheduler's accounts, stay what they are; kubelet leaves a running pod's weight alone.
type Direct struct {
	scales  Scales
	results func(Result)
	newest  chan []Target
}

// NewDirect returns one; Run makes it work.
func NewDirect(scales Scales, results func(Result)) *Direct {
	return &Direct{scales: scales, results: results, newest: make(chan []Target, 1)}
}

// Enforce leaves the targets, in place of any that were not begun. It never waits, and is for one caller at a time.
func (d *Direct) Enforce(targets []Target) {
	select {
	case <-d.newest:
	default:
	}
	d.newest <- targets
}

// Run works until ctx ends.
func (d *Direct) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case targets := <-d.newest:
			for _, t := range targets {
				d.results(d.weigh(t))
			}
		}
	}
}

func (d *Direct) weigh(t Target) Result {
	if err := d.scales.Weigh(t.Pod.UID, t.To); err != nil {
		if errors.Is(err, cgroup.ErrNotFound) {
			err = errors.Join(err, errGone)
		}
		return Result{Target: t, Err: err}
	}
	now, err := d.scales.Usage(t.Pod.UID, time.Now())
	want := cgroup.WeightOf(t.To)
	if now.Version == 1 {
		want = cgroup.SharesOf(t.To)
	}
	return Result{Target: t, Weight: now.Weight, Verified: err == nil && now.Weight == want}
}
