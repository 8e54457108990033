// Package bus is the schema of the state bus: which keys there are, who writes each, what it holds, and how long it
// lives. It is the only thing the binaries share at run time.
//
//	key                                     sole writer    record        life
//	nodes/<node>/gpus                       deviceplugin   NodeGPUs      while the writer lives
//	nodes/<node>/allocations/<pod uid>      deviceplugin   Allocation    while the pod lives
//	nodes/<node>/reservations/<pod uid>     extender       Reservation   until allocated, pod gone, or expired
//	nodes/<node>/epochs/<gpu uuid>          extender       Epoch         until its GPU is gone
//	nodes/<node>/load                       coordinator    NodeLoad      while the writer lives
//	jobs/<pod uid>/sample                   coordinator    Sample        while the writer lives
//	jobs/<pod uid>/advice                   tuner          Advice        until the job ends
//	models/<name>                           tuner          –             for ever
//	moves/<pod uid>                         mover          –             until done, and an hour
//	refusals/<pod uid>                      extender       Refusal       until the pod is submitted again
//
// All keys are below Prefix. One writer per key; everybody else watches. Liveness is a lease, never a time stamp
// compared across machines. A decision is a Put with guards: it fails with ErrConflict when the state it was taken on
// has moved on. Values are JSON with a version: unknown fields survive a rewrite, unknown versions are refused.
//
// A reservation and the epochs of its GPUs are written in one Commit, guarded by those epochs alone. So two reservations
// meet only where they want the same GPU, and one that is gone again has still left its mark for whoever decided before
// it. Reservations that were written before there were epochs are read like any other.
//
// Package daemon/etcdbus implements Bus on etcd and package membus in memory. Package bustest is the contract that both
// pass.
package bus
