// Package turnbench measures how jobs share the time of one GPU by turns, without Kubernetes and without root. All of its
// code is in tests: `make bench-turns` runs TestTurns.
//
// The sockets, the loop of the coordinator, its server of turns, the shim and the PyTorch jobs (benchmarks/jobs) are real.
// The bus is in memory. Pods and kubelet are fakes: a pod is a process, and a CPU request is applied at once.
//
// Phases that measure turns alone fix the shares in the plan of the loop, or open its groups for plain sharing (division).
// In phase ten the policy decides.
//
// With -device emulated the GPU is the first core of this machine, on which each job pins its training steps. The
// coordinator and the data loaders run on the other cores. Nothing else divides the time of that core, so only turns have
// an effect. With -device cuda the same jobs compute on the first GPU of the machine.
//
// Each job runs with testdata/gpushare.py in place of the shim. It is the shim, with a record of the times at which each
// step began and ended. Figures come from these records, and not from what the coordinator believes.
package turnbench
