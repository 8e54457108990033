// Package etcdbus implements the bus on etcd. It is the only package of the project that imports etcd's client.
//
// One Bus is one long-lived client with one session lease. What is written bus.Ephemeral hangs on that lease and is
// written again by the Bus itself when the lease was lost, so that a writer survives an etcd that was away for longer
// than its TTL. Guards become the comparisons of one transaction; bus.NoneNewer is a comparison over a range, which
// lets any number of replicas decide on one node without a lock.
//
// A list comes in pages, all at the revision of the first: tens of thousands of records in one answer would be more than
// what is on the way may carry, and would have etcd hold them all at once. One whose revision is compacted away before its
// last page begins again.
//
// Watch lists at a revision and follows from the next; after a compaction, an error, or an etcd that was away, it
// lists again. Opening a Bus never waits for etcd: a binary starts, and goes on, on what it has.
//
// What lives for a time shares leases with what was written shortly before: a lease is a write of its own in etcd.
package etcdbus
