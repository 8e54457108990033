// Package slot keeps the folders through which a container and its node's coordinator meet.
//
// A slot is <state-dir>/slots/<name>, mounted read-only into one container at /run/gpushare. The name follows from the
// container's device ids (slice.Slot). The device plugin makes the folder before the container exists and links the
// shim into it, one file that all slots share; the coordinator adds its socket; the plugin removes the folder once nobody
// can hold the ids any more. A folder is never replaced while it may be mounted: a container sees the folder it was started with, whatever comes
// to bear its name later.
//
// The file ".ids" lists the ids, so that a plugin which was restarted knows what a folder belongs to.
package slot
