// Package reservations reads and writes one node's books on the bus: GPUs, allocations and reservations.
//
// The extender is the sole writer of reservations, but any number of its replicas may write at once. So each GPU has an
// epoch, a key that is written in the same commit as every reservation on that GPU, and a reservation is written under
// these guards: since the books were read on which it was decided,
//
//   - nobody has reserved on the same GPUs (their epochs are not newer),
//   - nobody has reserved for the same pod (its own reservation is the one that was seen, or still absent),
//   - the node's inventory is there and was not published anew.
//
// Pods on different GPUs of one node do not meet. An epoch outlives the reservation, so that one which was made, served
// and given back since is noticed too. bus.ErrConflict means: read the node again and decide again.
//
// What a replica writes reaches its own view milliseconds later, and is known to it before (Own), so that pod after pod can
// be bound to one GPU without a conflict.
//
// An epoch goes when its GPU has gone (Forget), with the node or from its inventory; package reconcile sees to that. Whoever
// decided before can not come after it: the inventory that named the GPU is not there any more, and one that names it again
// is newer. So no time has to pass for this to be safe.
//
// Allocations are not guarded against. One that follows its reservation changes nothing. One that does not was decided
// by kubelet before anybody could hear of it: it is drift, which package reconcile repairs, and kubelet's own accounting
// keeps it harmless.
//
// Before anything is written, 0 ≤ used ≤ total is checked on the books that the decision was taken on. Arithmetic is
// signed, records with amounts below nothing or beyond any GPU are refused, and a transition that would break the
// balance is refused and counted, whoever asks for it.
//
// While the bus is away reservations are held in memory (Held), up to a bound, and written when it is back.
package reservations
