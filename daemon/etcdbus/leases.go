package etcdbus

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// sharedFraction is the fraction of a TTL, 1/30, during which new entries get the same lease. Granting a lease is a write
// in etcd: a lease for each reservation would double the cost of a bind.
const sharedFraction = 30

// leases grants the leases of entries with a TTL. Entries written shortly after one another share a lease.
type leases struct {
	client *clientv3.Client
	// lock guards shared. It is a channel, so that a context can end the wait.
	lock   chan struct{}
	shared map[time.Duration]sharedLease // by TTL
}

// sharedLease is a lease that new entries still get.
type sharedLease struct {
	id clientv3.LeaseID
	// until is the last time at which a new entry may get the lease: the entry then still has its whole TTL.
	until time.Time
}

func openLeases(client *clientv3.Client) *leases {
	return &leases{
		client: client,
		lock:   make(chan struct{}, 1),
		shared: map[time.Duration]sharedLease{},
	}
}

// lease returns a lease that lasts at least ttl and at most ttl/sharedFraction longer.
func (l *leases) lease(ctx context.Context, ttl time.Duration) (clientv3.LeaseID, error) {
	select {
	case l.lock <- struct{}{}:
		defer func() { <-l.lock }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	now := time.Now()
	if last, ok := l.shared[ttl]; ok && now.Before(last.until) {
		return last.id, nil
	}
	grant, err := l.client.Grant(ctx, seconds(ttl+ttl/sharedFraction))
	if err != nil {
		return 0, err
	}
	l.shared[ttl] = sharedLease{id: grant.ID, until: now.Add(ttl / sharedFraction)}
	return grant.ID, nil
}

// forget drops the shared leases, because etcd has lost them.
func (l *leases) forget() {
	l.lock <- struct{}{}
	clear(l.shared)
	<-l.lock
}

// seconds rounds a duration up: etcd counts the TTL of a lease in seconds.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }
