// Package preempt decides whom a more important job may push off a node: as few as it takes, the lowest priority and the
// least growth lost first.
//
// kube-scheduler knows how much GPU memory a node has, but no single GPU. Its dry run removes pods until the node's sum is
// enough, which may free half of two GPUs and help nobody. Choose takes what the dry run proposes and finds the victims
// that make room on GPUs.
//
// # What is lost
//
// A Plan is the better, the less it loses. Compared are, in this order,
//
//  1. disruption budgets violated
//  2. the highest priority among the victims
//  3. growth lost: the sum of what the victims still learn
//  4. the number of victims
//
// and at last the ages and names of the victims. The first two are kube-scheduler's own, which compares plans of several nodes by them.
//
// # How
//
// On each GPU everybody who may go is taken away, and then put back one by one, the dearest first, as long as there is
// still room: first those whose budget would be violated, then by priority, growth and age. That is kube-scheduler's own
// procedure, per GPU instead of per node. For n GPUs each is tried together with the n−1 that lose least otherwise, and the
// whole set is thinned out in the same way. The plan that loses least wins; the dry run's own is among them.
//
// # What else a node has
//
// The dry run may have chosen its victims for their CPU or memory. A plan that leaves one of them in place must free
// as much of both; otherwise the dry run's victims go as well.
package preempt
