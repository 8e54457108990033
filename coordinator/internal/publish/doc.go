// Package publish tells others what the coordinator sees and does: records on the bus for the other binaries, events
// and an annotation on the pod for people.
//
// Nothing here is waited for. Of each record only the newest counts; it is written at most once an interval in the long
// run, what is urgent at once and what comes after it that much later, and again after a failure, so that a bus that was
// away finds the present when it is back. Events are told by their causes'
// own pace, bounded again per pod.
package publish
