// Package preempt chooses the victims of a preemption: as few as necessary, with the lowest priority and the least
// growth lost.
//
// kube-scheduler knows the GPU memory of a node but not of its single GPUs. Its dry run removes pods until the sum is
// sufficient. That may free half of two GPUs, which does not help. Choose takes the victims of the dry run as a
// proposal and finds victims that free memory on single GPUs.
//
// # Cost of a plan
//
// Plans are compared by, in this order,
//
//  1. the number of violated disruption budgets
//  2. the highest priority of a victim
//  3. the growth lost: the sum of the victims' growth
//  4. the number of victims
//
// and finally by the ages and UIDs of the victims. The first two are kube-scheduler's own criteria, by which it
// compares the plans of several nodes.
//
// # Algorithm
//
// For each GPU, all candidates are removed, and then reprieved one by one while the request still fits: first those
// whose eviction would violate a budget, then the most important ones by priority, growth and age. This is
// kube-scheduler's own procedure, per GPU instead of per node. For a request of n GPUs, each GPU is combined with the
// n−1 GPUs of the cheapest plans, and the union is reprieved in the same way. The cheapest plan wins. The proposal of
// the dry run is among the candidates if it frees enough.
//
// # CPU and memory
//
// The dry run may have chosen its victims for their CPU or memory. A plan that spares one of them must free at least as
// much of both. Otherwise it includes the victims of the dry run.
package preempt
