// Package etcdbus implements bus.Bus on etcd. It is the only package that imports etcd's client.
//
// A Bus has one client and one session. Opening it does not wait for etcd, so a process starts while etcd is unavailable.
//
//   - Ephemeral entries are attached to the session's lease. If the lease expires during an outage, the Bus gets a new
//     lease and writes the entries again.
//   - Entries with a TTL share leases with entries written shortly before, because granting a lease is a write in etcd.
//   - Guards are the comparisons of one transaction. bus.NoneNewer compares a range, so several replicas can decide about
//     one node without a lock.
//   - List reads pages, all at the revision of the first. One reply with tens of thousands of records would exceed gRPC's
//     message limit. If etcd compacts that revision before the last page, List starts again.
//   - Watch lists at a revision and watches from the next. After a compaction, an error or an outage it lists again,
//     and also if etcd comes back with a lower revision, as an empty one does or one from a backup.
package etcdbus
