package loop

import (
	"context"
	"time"

	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/interference"
	"github.com/trellis-gpu/trellis/growth/node"
)

const (
	// fitInterval is the least time between two fits of the model, fitPart the most of a core that they take: one to thousands
	// of pairs takes a while, and each node makes its own.
	fitInterval = 10 * time.Second
	fitPart     = 0.005
)

// FollowModel follows what the tuner has learned about interference on all nodes, until ctx ends. Without a model that this
// build can read, the prior predicts.
func (l *Loop) FollowModel(ctx context.Context, b Watcher) {
	mirror := bus.Mirror[bus.Interference]{Decode: func(e bus.Entry) (bus.Interference, error) {
		return bus.Decode[bus.Interference](e.Value)
	}}
	key := bus.ModelKey(bus.InterferenceModel)
	batches := b.Watch(ctx, key)
	var view *bus.View[bus.Interference]
	var due <-chan time.Time // nil while no fit is due
	var earliest time.Time
	for {
		select {
		case batch, open := <-batches:
			if !open {
				return
			}
			view = mirror.Apply(batch)
			l.logRefused(batch, view.Undecodable)
			if batch.Err == nil && due == nil {
				due = time.After(time.Until(earliest))
			}
		case <-due:
			due = nil
			began := time.Now()
			event := node.InterferenceLearned{Model: l.fit(view.Values[key])}
			earliest = time.Now().Add(max(fitInterval, time.Duration(float64(time.Since(began))/fitPart)))
			l.post(func() { l.step(event) })
		}
	}
}

// fit returns the model of a record. An empty record gives the prior.
func (l *Loop) fit(record bus.Interference) interference.Model {
	learner, err := interference.Restore(interference.Prior(), record.Learned)
	if err != nil {
		l.log.Error("the learned model is invalid: speeds are predicted by the prior", "err", err)
		return interference.Prior()
	}
	return learner.Model()
}
