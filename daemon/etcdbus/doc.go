// Package etcdbus implements package growth/bus on etcd. It is the only package of the project that imports etcd's
// client.
//
// A process has one Bus: one client and one session lease. Open does not wait for etcd, so a binary starts, and keeps
// running, while etcd is unavailable.
//
//	ephemeral entries   use the session lease. If etcd loses the lease, the Bus gets another and writes them again.
//	entries with a TTL  share leases with entries written shortly before, because granting a lease is a write in etcd.
//	guards              are the comparisons of the write's transaction. bus.NoneNewer compares a range of keys: any
//	                    number of replicas can decide on one node without a lock.
//	List                reads pages at the revision of the first page, because a single reply with tens of thousands of
//	                    entries exceeds gRPC's limit. It starts again if that revision is compacted meanwhile.
//	Watch               lists, and then watches from the next revision. It lists again after a compaction, an error, or
//	                    a time without etcd.
package etcdbus
