package cache

import (
	"context"
	"fmt"
	"time"

	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/interference"
)

// Learned is a model that the tuner has learned.
type Learned struct {
	Model *interference.Model
	// Observations is the number of observations that the model is based on. It grows with each version of the model.
	Observations int64
	// Since is when this process started to use the model.
	Since time.Time
}

// Model returns the learned model, or nil without one.
func (s *Snapshot) Model() *interference.Model {
	if s.Learned == nil {
		return nil
	}
	return s.Learned.Model
}

// Learn watches the model of interference until ctx ends. It runs next to Run, since a fit to thousands of pairs takes a
// while. Without a model that this version can read, predictions are those of the prior. Decisions never wait for a model:
// while the watch fails, the last one stays.
func (c *Cache) Learn(ctx context.Context) error {
	batches := c.bus.WatchChunked(ctx, bus.ModelKey(bus.InterferenceModel)) // other models are many
	failed := false
	for {
		select {
		case batch := <-batches:
			if (batch.Err != nil) != failed {
				failed = batch.Err != nil
				c.log.Info("watching models", "connected", !failed, "err", batch.Err)
			}
			learned, changed := c.learnedIn(batch)
			if changed {
				c.submit(ctx, OnModel(learned))
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// learnedIn returns the model in a batch, nil if it was removed or cannot be read, and whether the batch changes it.
func (c *Cache) learnedIn(batch bus.Batch) (learned *Learned, changed bool) {
	if batch.Err != nil {
		return nil, false
	}
	key := bus.ModelKey(bus.InterferenceModel)
	changed = batch.Reset
	for _, deleted := range batch.Deleted {
		changed = changed || deleted == key
	}
	for _, entry := range batch.Entries {
		if entry.Key != key {
			continue
		}
		read, err := readModel(entry.Value)
		if err != nil {
			c.log.Error("the learned model cannot be read: slowdowns are predicted by the prior", "key", key, "err", err)
			return nil, true
		}
		return read, true
	}
	return nil, changed
}

func readModel(value []byte) (*Learned, error) {
	record, err := bus.Decode[bus.Interference](value)
	if err != nil {
		return nil, err
	}
	learner, err := interference.Restore(interference.Prior(), record.Learned)
	if err != nil {
		return nil, fmt.Errorf("invalid content: %w", err)
	}
	return &Learned{
		Model:        new(learner.Model()),
		Observations: record.Learned.Observations,
		Since:        time.Now(),
	}, nil
}
