// Package resize decides which of the CPU requests that a decision comes to are asked of kubelet, and what to do where it
// says no.
//
// # What is too little to ask for
//
// A resize costs two writes to the API server, a round of kubelet's and an event that somebody may read. Whoever arrives
// or leaves moves every share a little, and shares are divided in whole thousandths, so that many resizes would be of one
// or two. A change of less than 3 % of the request, or of less than 5m, is not made; of a small pool 5m may be a good part,
// so that of the pool it is to be no more than a hundredth. A change is measured from the request that stands and not from
// the decision before, so that small ones add up until they are made.
//
// Two things come before that. A job that has never been resized gets what was decided, exactly: what it was made with was
// nobody's decision. And the requests of all together stay within the pool, since the scheduler has given the rest of the
// node to others: of the requests that should fall and would not, the one furthest off is lowered first, until they do.
//
// # What can not be
//
// kubelet, or the API server, may refuse a resize for good. What a job then can not have is taken out of the pool: the
// others get what they would have got, and no more, since nobody knows yet whether it could be had back from them. It is
// asked for again when the pod or the node has changed, and anyway after a time that doubles with each refusal, 30 s at
// first and 16 min at most; never sooner than 30 s after a refusal, so that a busy node is no reason to ask all the time.
package resize
