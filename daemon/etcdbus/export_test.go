package etcdbus

import clientv3 "go.etcd.io/etcd/client/v3"

// Through replaces the key-value API of the client by a wrapper of it.
func (b *Bus) Through(between func(clientv3.KV) clientv3.KV) { b.client.KV = between(b.client.KV) }

// The bounds of a list.
const (
	PageSize     = pageSize
	ListAttempts = listAttempts
)
