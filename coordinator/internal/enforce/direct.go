package enforce

import (
	"context"
	"errors"
	"time"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/cgroup"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/node"
)

// WritableWeights reads and writes the weights of pods' cgroups.
type WritableWeights interface {
	Weights
	Weigh(pod growth.PodUID, request growth.MilliCPU) error
}

// Direct writes weights to cgroups, for clusters whose pods cannot be resized in place. Requests, and with them the
// scheduler's accounting, do not change. kubelet does not overwrite the weight of a running pod.
type Direct struct {
	weights WritableWeights
	results func(Result)
	newest  chan []node.Resize
}

// NewDirect returns a Direct. Run starts it.
func NewDirect(weights WritableWeights, results func(Result)) *Direct {
	return &Direct{weights: weights, results: results, newest: make(chan []node.Resize, 1)}
}

// Enforce passes resizes to Run. They replace those that have not begun. It never blocks, and must not be called
// concurrently.
func (d *Direct) Enforce(resizes []node.Resize) {
	select {
	case <-d.newest:
	default:
	}
	d.newest <- resizes
}

// Run writes weights until ctx ends.
func (d *Direct) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case resizes := <-d.newest:
			for _, r := range resizes {
				d.results(d.weigh(r))
			}
		}
	}
}

func (d *Direct) weigh(r node.Resize) Result {
	if err := d.weights.Weigh(r.Pod.UID, r.To); err != nil {
		if errors.Is(err, cgroup.ErrNotFound) {
			err = errors.Join(err, errGone)
		}
		return Result{Resize: r, Err: err}
	}
	now, err := d.weights.Usage(r.Pod.UID, time.Now())
	want := cgroup.WeightOf(r.To)
	if now.Version == 1 {
		want = cgroup.SharesOf(r.To)
	}
	return Result{Resize: r, Weight: now.Weight, Verified: err == nil && now.Weight == want}
}
