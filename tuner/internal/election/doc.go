// Package election elects the leader among several tuners by a coordination.k8s.io Lease. Only the leader gives advice;
// the others serve the dashboard and wait. A leader that loses its Lease stops giving advice and becomes a candidate
// again; in one process, a new term starts only after the previous one has ended. A write still in progress fails if
// the new leader has changed the record: every write is guarded by the record's revision.
package election
