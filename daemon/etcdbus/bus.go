package etcdbus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/trellis-gpu/trellis/growth/bus"
)

// Bus implements bus.Bus on etcd.
type Bus struct {
	client  *clientv3.Client
	log     *slog.Logger
	session *session
	leases  *leases
}

var _ bus.Bus = (*Bus)(nil)

// Open returns a client. It does not wait for etcd. The caller must close the client.
func Open(c Config) (*Bus, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	secure, err := c.tls()
	if err != nil {
		return nil, err
	}
	// By default, gRPC waits up to two minutes between attempts. Reconnect soon after etcd becomes available.
	reconnect := backoff.DefaultConfig
	reconnect.MaxDelay = 3 * time.Second
	dial := []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{Backoff: reconnect, MinConnectTimeout: 5 * time.Second})}
	if c.ServerName != "" {
		// Without an authority, etcd's client verifies the name of the endpoint, whatever tls.Config says.
		dial = append(dial, grpc.WithAuthority(c.ServerName))
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints: c.Endpoints, TLS: secure, DialKeepAliveTime: 5 * time.Second, DialKeepAliveTimeout: 3 * time.Second,
		DialOptions: dial, Logger: zap.NewNop(),
	})
	if err != nil {
		return nil, fmt.Errorf("opening etcd client: %w", err)
	}
	log := cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	b := &Bus{client: client, log: log, leases: openLeases(client)}
	b.session = openSession(client, log, cmp.Or(c.SessionTTL, 15*time.Second))
	return b, nil
}

// Close revokes the session lease, which deletes the ephemeral entries, and closes the client.
func (b *Bus) Close() error {
	b.session.close()
	return b.client.Close()
}

// Put implements bus.Bus.
func (b *Bus) Put(ctx context.Context, key string, value []byte, lifetime bus.Lifetime, guards ...bus.Guard) (bus.Revision, error) {
	return b.Commit(ctx, []bus.Write{{Key: key, Value: value, Lifetime: lifetime}}, guards...)
}

// Commit implements bus.Bus: one transaction.
func (b *Bus) Commit(ctx context.Context, writes []bus.Write, guards ...bus.Guard) (bus.Revision, error) {
	revision, err := b.commit(ctx, writes, guards)
	if errors.Is(err, rpctypes.ErrLeaseNotFound) { // it was revoked, or etcd was restored from a backup
		b.leases.forgetAll()
		revision, err = b.commit(ctx, writes, guards)
	}
	return revision, err
}

func (b *Bus) commit(ctx context.Context, writes []bus.Write, guards []bus.Guard) (bus.Revision, error) {
	ops, keys := make([]clientv3.Op, len(writes)), make([]string, len(writes))
	for i, w := range writes {
		lease, err := b.lease(ctx, w.Lifetime)
		if err != nil {
			return 0, wrap("leasing "+w.Key, err)
		}
		ops[i], keys[i] = clientv3.OpPut(w.Key, string(w.Value), clientv3.WithLease(lease)), w.Key
	}
	reply, err := b.client.Txn(ctx).If(comparisons(guards)...).Then(ops...).Commit()
	if err != nil {
		return 0, wrap("writing "+strings.Join(keys, ", "), err)
	}
	if !reply.Succeeded {
		return 0, fmt.Errorf("writing %s: %w", strings.Join(keys, ", "), bus.ErrConflict)
	}
	for _, w := range writes {
		if w.Lifetime.Ephemeral {
			b.session.remember(w.Key, w.Value)
		} else {
			b.session.forget(w.Key)
		}
	}
	return bus.Revision(reply.Header.Revision), nil
}

// lease returns the lease of an entry with a lifetime.
func (b *Bus) lease(ctx context.Context, lifetime bus.Lifetime) (clientv3.LeaseID, error) {
	switch {
	case lifetime.Ephemeral:
		return b.session.lease(ctx)
	case lifetime.TTL > 0:
		return b.leases.get(ctx, lifetime.TTL)
	}
	return clientv3.NoLease, nil
}

// Delete implements bus.Bus.
func (b *Bus) Delete(ctx context.Context, key string, guards ...bus.Guard) error {
	reply, err := b.client.Txn(ctx).If(comparisons(guards)...).Then(clientv3.OpDelete(key)).Commit()
	if err != nil {
		return wrap("deleting "+key, err)
	}
	if !reply.Succeeded {
		return fmt.Errorf("deleting %s: %w", key, bus.ErrConflict)
	}
	b.session.forget(key)
	return nil
}

// comparisons converts guards into the conditions of a transaction.
func comparisons(guards []bus.Guard) []clientv3.Cmp {
	conditions := make([]clientv3.Cmp, len(guards))
	for i, g := range guards {
		switch {
		case g.Prefix:
			conditions[i] = clientv3.Compare(clientv3.ModRevision(g.Key).WithPrefix(), "<", int64(g.Revision)+1)
		case g.AllowOlder:
			conditions[i] = clientv3.Compare(clientv3.ModRevision(g.Key), "<", int64(g.Revision)+1)
		default:
			conditions[i] = clientv3.Compare(clientv3.ModRevision(g.Key), "=", int64(g.Revision))
		}
	}
	return conditions
}

// wrap describes what failed. An error that means that etcd is unavailable also wraps bus.ErrUnavailable.
func wrap(doing string, err error) error {
	code := status.Code(err)
	var etcdError rpctypes.EtcdError
	if errors.As(err, &etcdError) {
		code = etcdError.Code()
	}
	if code == codes.Unavailable || code == codes.DeadlineExceeded || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s: %w: %w", doing, bus.ErrUnavailable, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}
