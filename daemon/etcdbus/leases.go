package etcdbus

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// shareFraction is the inverse of the fraction of a TTL during which writes share a lease. Granting a lease is a write in
// etcd, so a lease for each reservation would double the cost of a bind.
const shareFraction = 30

// leases are the leases of entries with a TTL.
type leases struct {
	client *clientv3.Client
	lock   chan struct{}                 // a mutex of which a context can end the wait
	shared map[time.Duration]sharedLease // by TTL
}

type sharedLease struct {
	id clientv3.LeaseID
	// until is the time after which a write needs another lease, because this one would expire before the TTL.
	until time.Time
}

func openLeases(client *clientv3.Client) *leases {
	return &leases{client: client, lock: make(chan struct{}, 1), shared: map[time.Duration]sharedLease{}}
}

// get returns a lease that expires after ttl at the earliest, and at most a thirtieth of ttl later.
func (l *leases) get(ctx context.Context, ttl time.Duration) (clientv3.LeaseID, error) {
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
	grant, err := l.client.Grant(ctx, int64((ttl+ttl/shareFraction+time.Second-1)/time.Second))
	if err != nil {
		return 0, err
	}
	l.shared[ttl] = sharedLease{grant.ID, now.Add(ttl / shareFraction)}
	return grant.ID, nil
}

// forgetAll drops the shared leases. It is for leases that etcd does not know.
func (l *leases) forgetAll() {
	l.lock <- struct{}{}
	clear(l.shared)
	<-l.lock
}
