package etcdbus

import clientv3 "go.etcd.io/etcd/client/v3"

// WrapKV replaces the client's KV by a wrapper of it.
func (b *Bus) WrapKV(wrap func(clientv3.KV) clientv3.KV) { b.client.KV = wrap(b.client.KV) }

// The limits of a list.
const (
	PageSize     = pageSize
	ListAttempts = listAttempts
)

// Endpoints are the addresses that the client dials.
func (b *Bus) Endpoints() []string { return b.client.Endpoints() }
