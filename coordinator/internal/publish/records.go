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
	// pace is the least time between two writes of one record, and the pause after a failure.
	pace = time.Second
	// writeTimeout bounds one write.
	writeTimeout = 3 * time.Second
)

// Bus is the part of the bus that is written to.
type Bus interface {
	Put(ctx context.Context, key string, value []byte, life bus.Life, guards ...bus.Guard) (bus.Revision, error)
	Delete(ctx context.Context, key string, guards ...bus.Guard) error
}

// Records writes records.
type Records struct {
	bus  Bus
	node growth.NodeName
	log  *slog.Logger

	mu    sync.Mutex
	dirty map[string][]byte // nil: to be deleted
}

// NewRecords returns a writer for one node; Run makes it write.
func NewRecords(b Bus, node growth.NodeName, log *slog.Logger) *Records {
	return &Records{bus: b, node: node, log: log, dirty: map[string][]byte{}}
}

// Sample publishes a job as it is now.
func (r *Records) Sample(s bus.Sample) {
	s.Node = r.node
	value, err := bus.Encode(s)
	r.put(bus.SampleKey(s.Pod.UID), value, err)
}

// Load publishes the node as it is now.
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
		r.log.Error("a record can not be written", "key", key, "reason", err)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dirty[key] = value
}

// Run writes until ctx ends.
func (r *Records) Run(ctx context.Context) error {
	ticker := time.NewTicker(pace)
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
					r.log.Warn("records can not be written; the newest are kept", "reason", err)
				} else {
					r.log.Info("records are written again")
				}
			}
		}
	}
}

// flush writes what has changed; at the first failure the rest waits.
func (r *Records) flush(ctx context.Context) error {
	r.mu.Lock()
	dirty := r.dirty
	r.dirty = make(map[string][]byte, len(dirty))
	r.mu.Unlock()
	for key, value := range dirty {
		if err := r.write(ctx, key, value); err != nil {
			r.restore(dirty)
			return err
		}
		delete(dirty, key)
	}
	return nil
}

func (r *Records) write(ctx context.Context, key string, value []byte) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if value == nil {
		return r.bus.Delete(ctx, key)
	}
	_, err := r.bus.Put(ctx, key, value, bus.WhileAlive)
	return err
}

// restore puts back what was not written, unless there is newer.
func (r *Records) restore(unwritten map[string][]byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, value := range unwritten {
		if _, newer := r.dirty[key]; !newer {
			r.dirty[key] = value
		}
	}
}
