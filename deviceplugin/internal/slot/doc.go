// Package slot manages the directories that connect a container with its node's coordinator.
//
// A slot is <state-dir>/slots/<name>, mounted read-only into one container at /run/gpushare. Its name is derived from
// the container's device ids (slice.Slot). The device plugin creates the slot before the container and links the shim
// into it; all slots share one copy of the shim. The coordinator adds its socket. The plugin removes the slot once no
// container can hold the ids.
//
// Invariant: a mounted directory is never replaced, so a container keeps the directory that it was started with.
//
// The file "checkpoint.json" has what the container's job saved before it moved here. It is there before the container starts.
//
// The file ".ids" lists the ids, and the file ".owner" names the container that started with the slot. A
// restarted plugin reads there which ids a live pod holds, even if kubelet has lost its checkpoint and the bus is
// unavailable.
package slot
