// Package modelcheck checks the invariants of reservations under faults. Two replicas of the extender, with the real
// scheduler, reconciler, store and cache, run on the bus in memory, a fake API server and two fake kubelets. A single
// driver decides what happens next.
//
// A run is a list of steps. A step is one of these:
//
//   - a pod is created or deleted; time passes; a GPU becomes unhealthy; the bus becomes unavailable or available;
//   - a replica starts to bind or to reconcile, or crashes between any two of its calls;
//   - one call of a replica to the bus or the API server succeeds, fails, or succeeds while its response is lost;
//   - a watch delivers, repeats, reorders or breaks;
//   - kubelet admits a pod, on the planned GPUs or on others; a device plugin records an allocation.
//
// Nothing runs concurrently with the driver: a replica's work is a coroutine that stops before each call. So the steps
// determine the run, and any subset of the steps is a run too, which makes shrinking possible.
//
// After every step (check_test.go):
//
//   - 0 ≤ used ≤ total on every GPU by the authoritative records. Excepted are allocations that differ from the plan, and
//     reservations that were assumed while the bus was unavailable;
//   - kubelet never allocates a device twice, every bound pod has its GPUs, every reservation has the right key;
//   - no reservation was refused because it would over-commit a GPU: decisions never get that far.
//
// Once all work is done: no reservation, assumed reservation or drift is left, every replica's snapshot equals the records,
// no GPU is over-committed (without the exceptions above), and every pod for which there is room can be bound.
//
// A failing run is shrunk and printed; `go test -run TestReplay -steps "…"` repeats it.
package modelcheck
