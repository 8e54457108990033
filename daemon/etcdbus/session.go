package etcdbus

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// retryInterval is the time between two attempts while etcd is unavailable.
const retryInterval = time.Second

// session keeps a lease alive, and the ephemeral entries that are attached to it. It replaces a lost lease.
type session struct {
	client *clientv3.Client
	log    *slog.Logger
	ttl    time.Duration
	cancel context.CancelFunc
	done   chan struct{}

	mu     sync.Mutex
	id     clientv3.LeaseID  // 0 without a lease
	ready  chan struct{}     // closed while there is a lease
	values map[string][]byte // ephemeral entries by key
}

func openSession(client *clientv3.Client, log *slog.Logger, ttl time.Duration) *session {
	ctx, cancel := context.WithCancel(context.Background())
	s := &session{
		client: client,
		log:    log,
		ttl:    ttl,
		cancel: cancel,
		done:   make(chan struct{}),
		ready:  make(chan struct{}),
		values: map[string][]byte{},
	}
	go s.run(ctx)
	return s
}

// run gets a lease, and another one after each loss, until ctx ends.
func (s *session) run(ctx context.Context) {
	defer close(s.done)
	for ctx.Err() == nil {
		if err := s.holdLease(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("no session with the bus", "err", err)
			select {
			case <-time.After(retryInterval):
			case <-ctx.Done():
			}
		}
	}
}

// holdLease grants a lease and keeps it alive. It returns when the lease is lost or ctx ends.
func (s *session) holdLease(ctx context.Context) error {
	attempt, cancel := context.WithTimeout(ctx, s.ttl)
	defer cancel()
	grant, err := s.client.Grant(attempt, seconds(s.ttl))
	if err != nil {
		return fmt.Errorf("granting a lease: %w", err)
	}
	kept, err := s.client.KeepAlive(ctx, grant.ID)
	if err != nil {
		return fmt.Errorf("keeping the lease alive: %w", err)
	}
	if err := s.restore(attempt, grant.ID); err != nil {
		return err
	}
	for range kept { // etcd's client closes the channel when the lease is lost or ctx ends
	}
	s.mu.Lock()
	s.id = 0
	s.ready = make(chan struct{})
	s.mu.Unlock()
	return fmt.Errorf("lease %x was lost", grant.ID)
}

// restore writes the ephemeral entries with a new lease, and then releases the writes that wait for one.
func (s *session) restore(ctx context.Context, id clientv3.LeaseID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, value := range s.values {
		if _, err := s.client.Put(ctx, key, string(value), clientv3.WithLease(id)); err != nil {
			return fmt.Errorf("writing %s again: %w", key, err)
		}
	}
	s.id = id
	close(s.ready)
	return nil
}

// lease returns the session's lease. It waits for one while etcd is unavailable.
func (s *session) lease(ctx context.Context) (clientv3.LeaseID, error) {
	for {
		s.mu.Lock()
		id := s.id
		ready := s.ready
		s.mu.Unlock()
		if id != 0 {
			return id, nil
		}
		select {
		case <-ready:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// remember records an ephemeral entry, to write it again after the lease is lost.
func (s *session) remember(key string, value []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values[key] = value
}

// forget drops an entry that was deleted or is no longer ephemeral.
func (s *session) forget(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.values, key)
}

// close revokes the lease.
func (s *session) close() {
	s.mu.Lock()
	id := s.id
	s.mu.Unlock()
	s.cancel()
	<-s.done
	if id != 0 {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_, _ = s.client.Revoke(ctx, id) // after an error it expires
	}
}
