// Package resize decides which CPU requests to change by an in-place pod resize, and when to retry a resize that was
// refused.
//
// # Small changes
//
// A resize costs two writes to the API server, a sync of kubelet, and an event. Each arrival and departure moves every
// share a little, and requests are whole thousandths of a core, so many resizes would change a request by 1m or 2m.
// Select therefore drops changes below a deadband: the larger of 3 % of the request and 5m, where the 5m are at most
// 1 % of the pool. Changes are measured from the request in force and not from the last decision, so small changes
// accumulate until they are made.
//
// Two rules override the deadband. A job that was never resized gets exactly the decided request, because its original
// request was not a decision. And the sum of all requests must stay within the pool, because the scheduler has given
// the rest of the node to other pods. If it exceeds the pool, the reductions that were dropped are made after all, the
// largest first.
//
// # Refused resizes
//
// Kubelet or the API server may refuse a resize as infeasible. Divide then keeps the request in force. If an increase
// was refused, the other jobs do not get the difference: it is unknown whether they could give it back later. If a
// decrease was refused, the other jobs share what is left.
//
// A refused resize is retried after a backoff, which starts at 30 s and doubles with each refusal up to 16 min. It is
// retried earlier, but at least 30 s after the refusal, if the pod or the node has changed.
package resize
