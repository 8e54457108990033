// Package scheduler decides: which nodes have room for a pod (Filter), how good each of them is (Prioritize), which pods
// to evict (Preempt), and on which GPUs to bind it (Bind). Explain and Inspect report decisions and nodes.
//
// Filter and Prioritize read one snapshot and change nothing. Bind acts, in this order:
//
//  1. The API server's pod must be unbound, and must have the UID of the pod that was scheduled.
//  2. GPUs are chosen on the snapshot, and reserved on the bus unless another replica has reserved them since. After a
//     conflict the node is read again and GPUs are chosen again, a bounded number of times. While the bus is unavailable,
//     GPUs are chosen on the last snapshot, and the reservation is assumed: it stays in memory, up to a bound, and package
//     reconcile writes it once the bus is connected.
//  3. One Binding carries the GPUs as an annotation, the pod's UID and its resource version.
//  4. If the API server refuses the Binding, the reservation is released. If the result is unknown, the reservation stays:
//     it serves the scheduler's next attempt, and expires otherwise.
//
// Bind may be repeated, because a response can be lost: a pod that is bound to the same node is a success, even if the
// snapshot does not show it yet. A pod that is bound to another node is an error that names the node, and no reservation
// for it remains.
//
// Preempt nominates a node for the pod (Nominations). Filter accepts that node as soon as the victims' memory makes room,
// even if the records still have the victims.
//
// Every error is a sentence that kube-scheduler puts into the pod's event, and every failed Bind may be retried. The
// decision log is written by all verbs and read by Explain alone.
package scheduler
