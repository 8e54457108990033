package publish

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/node"
)

const (
	// flushPeriod is the time between two flushes, and the pause after a failure.
	flushPeriod = time.Second
	// writeTimeout bounds one write.
	writeTimeout = 3 * time.Second
)

// Bus is the part of the bus that Records uses.
type Bus interface {
	Put(ctx context.Context, key string, value []byte, life bus.Lifetime, guards ...bus.Guard) (bus.Revision, error)
	Delete(ctx context.Context, key string, guards ...bus.Guard) error
}

// Records writes records on the bus.
type Records struct {
	bus  Bus
	node growth.NodeName
	gap  time.Duration
	log  *slog.Logger

	mu      sync.Mutex
	dirty   map[string][]byte    // values not written yet; nil: delete the record
	urgent  map[string]bool      // keys of dirty that do not wait for the gap
	written map[string]time.Time // time of the last write; of an urgent write, when it would have been due
}

// NewRecords returns a writer for one node. gap is the minimum time between two writes of one record. Run starts it.
func NewRecords(b Bus, node growth.NodeName, gap time.Duration, log *slog.Logger) *Records {
	return &Records{
		bus:     b,
		node:    node,
		gap:     gap,
		log:     log,
		dirty:   map[string][]byte{},
		urgent:  map[string]bool{},
		written: map[string]time.Time{},
	}
}

// Sample publishes a job's sample. An urgent sample does not wait for the gap. The next one waits longer by as much, so
// the average rate of writes stays the same.
func (r *Records) Sample(s bus.Sample, urgent bool) {
	s.Node = r.node
	key := bus.SampleKey(s.Pod.UID)
	value, err := bus.Encode(s)
	r.put(key, value, err)
	if urgent {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.urgent[key] = true
	}
}

// Gang publishes what the node says about its ranks of a job on several nodes, without waiting for the gap.
func (r *Records) Gang(g node.GangReport) {
	key := bus.GangKey(g.Gang, r.node)
	var value []byte
	var err error
	if g.Record != nil {
		value, err = bus.Encode(*g.Record)
	}
	r.put(key, value, err)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.urgent[key] = true
}

// Load publishes the load of the node.
func (r *Records) Load(l bus.NodeLoad) {
	value, err := bus.Encode(l)
	r.put(bus.LoadKey(r.node), value, err)
}

// Speeds publishes the speeds that were measured on the node.
func (r *Records) Speeds(s bus.Speeds) {
	value, err := bus.Encode(s)
	r.put(bus.SpeedsKey(r.node), value, err)
}

// Runs publishes the runs of a program. Without runs it deletes them.
func (r *Records) Runs(p node.LearnedProgram) {
	key := bus.RunsKey(r.node, p.Program)
	value, err := bus.Encode(bus.ProgramRuns{Runs: p.Runs})
	if len(p.Runs) == 0 {
		value = nil
	}
	r.put(key, value, err)
}

// Forget removes the sample of a job that has ended.
func (r *Records) Forget(pod growth.PodUID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dirty[bus.SampleKey(pod)] = nil
}

func (r *Records) put(key string, value []byte, err error) {
	if err != nil {
		r.log.Error("a record cannot be written", "key", key, "err", err)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dirty[key] = value
}

// Run writes until ctx ends.
func (r *Records) Run(ctx context.Context) error {
	ticker := time.NewTicker(flushPeriod)
	defer ticker.Stop()
	unavailable := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			err := r.flush(ctx)
			if (err != nil) != unavailable && ctx.Err() == nil {
				unavailable = err != nil
				if unavailable {
					r.log.Warn("records cannot be written; the newest are kept", "err", err)
				} else {
					r.log.Info("records are written again")
				}
			}
		}
	}
}

// flush writes the records that have changed and are due. After a failure the rest waits for the next flush.
func (r *Records) flush(ctx context.Context) error {
	due := r.due(time.Now())
	for key, value := range due {
		if err := r.write(ctx, key, value); err != nil {
			r.restore(due)
			return err
		}
		delete(due, key)
	}
	return nil
}

// due removes and returns the values that may be written now.
func (r *Records) due(now time.Time) map[string][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	due := map[string][]byte{}
	for key, value := range r.dirty {
		at := now
		if last, ok := r.written[key]; value != nil && ok && now.Sub(last) < r.gap {
			if !r.urgent[key] {
				continue
			}
			at = last.Add(r.gap)
		}
		due[key] = value
		r.written[key] = at
		delete(r.dirty, key)
		delete(r.urgent, key)
		if value == nil {
			delete(r.written, key)
		}
	}
	return due
}

func (r *Records) write(ctx context.Context, key string, value []byte) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if value == nil {
		return r.bus.Delete(ctx, key)
	}
	_, err := r.bus.Put(ctx, key, value, bus.Ephemeral)
	return err
}

// restore puts back values that were not written, unless there are newer ones.
func (r *Records) restore(unwritten map[string][]byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, value := range unwritten {
		delete(r.written, key)
		if _, newer := r.dirty[key]; !newer {
			r.dirty[key] = value
		}
	}
}
