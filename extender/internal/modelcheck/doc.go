// Package model holds the books to their invariants while everything goes wrong: two replicas of the extender with the
// real decider, sweeper, ledger and view, on the bus in memory, between an API server's and two kubelets' doubles, under
// one driver that decides alone what happens next.
//
// A run is a list of steps. Each lets one thing happen: a pod is made or deleted, a replica is asked to bind or sweeps, one
// call of a replica to bus or API server is made, refused, or made with its answer lost, a watch delivers, repeats,
// overtakes or is lost, kubelet admits a pod (where it was planned, or elsewhere), a device plugin records, a GPU falls
// ill, a replica dies between any two of its calls, the bus goes away and comes back, time passes. Nothing runs beside the
// driver: a replica's work is a coroutine that stops before each call. So a run is its steps and nothing else, and any
// part of them is a run as well, which is what shrinking needs.
//
// After every step (check.go):
//
//   - 0 ≤ used ≤ total on every GPU by the authoritative records, but for what kubelet gave away from its plan and what was
//     decided in memory while the bus was away;
//   - kubelet never gives out what it has given already, no bound pod lacks its GPUs, no reservation lies under a wrong key;
//   - no reservation was refused because the books would not balance: decisions never get that far.
//
// And whenever all is quiet: nothing is reserved, held or drifting any more, every replica sees what there is, no GPU
// holds more than it has, without any excuse, and every pod for which there is room can be bound.
//
// A failing run is shrunk and printed; `go test -run TestReplay -steps "…"` runs it again.
package model
