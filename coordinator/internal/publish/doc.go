// Package publish writes the results of decisions: records on the bus for the other binaries, and events and
// annotations on pods for users.
//
// No call blocks. Of each record only the newest value is written, at most once per interval on average. An urgent
// record is written at once, and the next one is delayed by as much. A failed write is retried, so that the bus has the
// current values once it is connected again. Events are rate-limited per pod.
package publish
