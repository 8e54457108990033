// Package publish writes what the coordinator sees and does: records on the bus for the other binaries, events and
// annotations on the pod for people.
//
// Nothing here blocks its caller. Of each record only the newest value counts. In the long run it is written at most once
// per interval. An urgent one is written at once, and the next one that much later. A failed write is repeated, so that a bus
// that was unavailable gets the present values. Events are limited per pod.
package publish
