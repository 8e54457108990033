package publish

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
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
	dirty   map[string][]byte    // nil: to be deleted
	urgent  map[string]bool      // those of dirty that do not wait for the gap
	written map[string]time.Time // the last write of each record; later than that if it did not wait
}

// NewRecords returns a writer for one node, which leaves at least a gap between two writes of one record. Run starts it.
func NewRecords(b Bus, node growth.NodeName, gap time.Duration, log *slog.Logger) *Records {
	return &Records{bus: b, node: node, gap: gap, log: log, dirty: map[string][]byte{}, urgent: map[string]bool{}, written: map[string]time.Time{}}
}

// Sample publishes a job's sample. An urgent one does not wait for the gap to pass. The next write then waits for that much
// longer, so that the rate of writes stays the same in the long run.
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

// Load publishes the load of the node.
func (r *Records) Load(l bus.NodeLoad) {
	value, err := bus.Encode(l)
	r.put(bus.LoadKey(r.node), value, err)
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
	away := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			err := r.flush(ctx)
			if (err != nil) != away && ctx.Err() == nil {
				if away = err != nil; away {
					r.log.Warn("records cannot be written; the newest are kept", "err", err)
				} else {
					r.log.Info("records are written again")
				}
			}
		}
	}
}

// flush writes what has changed and is due. At the first failure the rest waits.
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

// due removes and returns what may be written now.
func (r *Records) due(now time.Time) map[string][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	due := map[string][]byte{}
	for key, value := range r.dirty {
		at := now
		if last, ok := r.written[key]; value != nil && ok && now.Sub(last) < r.gap {
			if at = last.Add(r.gap); !r.urgent[key] {
				continue
			}
		}
		due[key], r.written[key] = value, at
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

// restore puts back what was not written, unless there is something newer.
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
