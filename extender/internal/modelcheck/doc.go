// Package modelcheck checks the invariants of reservations under faults. Two replicas of the extender, with the real
// scheduler, reconciler, store and cache, run on the bus in memory, a fake API server and two fake kubelets. A single
// driver decides what happens next.
//
// A run is a list of steps. A step lets one thing happen: a pod is created or deleted, a replica is asked to bind or to
// reconcile, one call of a replica to the bus or the API server succeeds, fails, or succeeds without its answer arriving,
// a watch delivers, repeats, reorders or breaks, kubelet admits a pod (as planned, or elsewhere), a device plugin records
// an allocation, a GPU becomes unhealthy, a replica crashes between any two of its calls, the bus becomes unavailable or
// available, time passes. Nothing runs concurrently with the driver: a replica's work is a coroutine that stops before
// each call. A run therefore consists of its steps alone, and any subset of them is a run, which shrinking needs.
//
// After every step (check_test.go):
//
//   - 0 ≤ used ≤ total on every GPU by the authoritative records, except for what kubelet allocated against the plan and
//     what was decided in memory while the bus was unavailable;
//   - kubelet never allocates a device twice, every bound pod has its GPUs, every reservation has the right key;
//   - no reservation was refused because it would over-commit a GPU: decisions never get that far.
//
// At rest: nothing is reserved, assumed or drifting any more, every replica's snapshot is true, no GPU is over-committed
// without exception, and every pod for which there is room can be bound.
//
// A failing run is shrunk and printed; `go test -run TestReplay -steps "…"` repeats it.
package modelcheck
