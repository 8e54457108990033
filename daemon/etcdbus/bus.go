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

// Open returns a Bus. It does not wait for etcd.
func Open(c Config) (*Bus, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	tlsConfig, err := c.tls()
	if err != nil {
		return nil, err
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints:            c.endpoints(),
		TLS:                  tlsConfig,
		DialKeepAliveTime:    5 * time.Second,
		DialKeepAliveTimeout: 3 * time.Second,
		DialOptions:          dialOptions(c),
		Logger:               zap.NewNop(),
	})
	if err != nil {
		return nil, fmt.Errorf("opening etcd client: %w", err)
	}
	log := cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	b := &Bus{client: client, log: log, leases: openLeases(client)}
	b.session = openSession(client, log, cmp.Or(c.SessionTTL, 15*time.Second))
	return b, nil
}

// window is how many bytes etcd may send before the client has read them: the largest record.
const window = bus.MaxValue

// dialOptions returns the options of the connection to etcd.
func dialOptions(c Config) []grpc.DialOption {
	// By default, gRPC waits up to two minutes between attempts. The bus must reconnect soon after etcd has restarted.
	reconnect := backoff.DefaultConfig
	reconnect.MaxDelay = 3 * time.Second
	options := []grpc.DialOption{
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: reconnect, MinConnectTimeout: 5 * time.Second}),
		// With windows of its own choice, gRPC sends a ping after almost each change of a watch, to find out how wide they should be.
		grpc.WithStaticStreamWindowSize(window), grpc.WithStaticConnWindowSize(2 * window),
	}
	if c.ServerName != "" {
		// Otherwise etcd's client verifies the endpoint's name, even if the TLS configuration contains another one.
		options = append(options, grpc.WithAuthority(c.ServerName))
	}
	return options
}

// Close revokes the session's lease, which deletes the ephemeral entries, and closes the client.
func (b *Bus) Close() error {
	b.session.close()
	return b.client.Close()
}

// Put implements bus.Bus.
func (b *Bus) Put(
	ctx context.Context, key string, value []byte, lifetime bus.Lifetime, guards ...bus.Guard,
) (bus.Revision, error) {
	return b.Commit(ctx, []bus.Write{{Key: key, Value: value, Lifetime: lifetime}}, guards...)
}

// Commit implements bus.Bus with one transaction.
func (b *Bus) Commit(ctx context.Context, writes []bus.Write, guards ...bus.Guard) (bus.Revision, error) {
	revision, err := b.commit(ctx, writes, guards)
	if errors.Is(err, rpctypes.ErrLeaseNotFound) { // revoked by an operator, or missing in a restored backup
		b.leases.forget()
		revision, err = b.commit(ctx, writes, guards)
	}
	return revision, err
}

func (b *Bus) commit(ctx context.Context, writes []bus.Write, guards []bus.Guard) (bus.Revision, error) {
	ops := make([]clientv3.Op, len(writes))
	keys := make([]string, len(writes))
	for i, w := range writes {
		lease, err := b.lease(ctx, w.Lifetime)
		if err != nil {
			return 0, wrap("leasing "+w.Key, err)
		}
		ops[i] = clientv3.OpPut(w.Key, string(w.Value), clientv3.WithLease(lease))
		keys[i] = w.Key
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

// lease returns a lease for entries with a lifetime.
func (b *Bus) lease(ctx context.Context, lifetime bus.Lifetime) (clientv3.LeaseID, error) {
	switch {
	case lifetime.Ephemeral:
		return b.session.lease(ctx)
	case lifetime.TTL > 0:
		return b.leases.lease(ctx, lifetime.TTL)
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

// comparisons converts guards into comparisons of a transaction.
func comparisons(guards []bus.Guard) []clientv3.Cmp {
	result := make([]clientv3.Cmp, len(guards))
	for i, g := range guards {
		switch {
		case g.Prefix:
			result[i] = clientv3.Compare(clientv3.ModRevision(g.Key).WithPrefix(), "<", int64(g.Revision)+1)
		case g.AllowOlder:
			result[i] = clientv3.Compare(clientv3.ModRevision(g.Key), "<", int64(g.Revision)+1)
		default:
			result[i] = clientv3.Compare(clientv3.ModRevision(g.Key), "=", int64(g.Revision))
		}
	}
	return result
}

// wrap says which operation failed. It adds bus.ErrUnavailable if etcd did not respond.
func wrap(operation string, err error) error {
	code := status.Code(err)
	var etcdError rpctypes.EtcdError
	if errors.As(err, &etcdError) {
		code = etcdError.Code()
	}
	if code == codes.Unavailable || code == codes.DeadlineExceeded || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s: %w: %w", operation, bus.ErrUnavailable, err)
	}
	return fmt.Errorf("%s: %w", operation, err)
}
