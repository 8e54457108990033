package etcdbus

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// share is the part of a life for which entries written one after another get the same lease. A lease is a write of its
// own in etcd: one for each reservation would double what a bind costs.
const share = 30

// leases are those of entries that live for a time, by how long.
type leases struct {
	client *clientv3.Client
	turn   chan struct{} // held by who looks or asks for one
	shared map[time.Duration]leased
}

type leased struct {
	id clientv3.LeaseID
	// until is the time up to which the lease outlives every entry written with it.
	until time.Time
}

func openLeases(client *clientv3.Client) *leases {
	return &leases{client: client, turn: make(chan struct{}, 1), shared: map[time.Duration]leased{}}
}

// lasting returns a lease that ends no earlier than after a time, and no more than a thirtieth of it later.
func (l *leases) lasting(ctx context.Context, life time.Duration) (clientv3.LeaseID, error) {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	now := time.Now()
	if last, ok := l.shared[life]; ok && now.Before(last.until) {
		return last.id, nil
	}
	grant, err := l.client.Grant(ctx, int64((life+life/share+time.Second-1)/time.Second))
	if err != nil {
		return 0, err
	}
	l.shared[life] = leased{grant.ID, now.Add(life / share)}
	return grant.ID, nil
}

// forget drops what is shared: etcd does not know it any more.
func (l *leases) forget() {
	l.turn <- struct{}{}
	clear(l.shared)
	<-l.turn
}
