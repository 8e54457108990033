// Package hiccup notices when a machine stands still: a hypervisor gives a virtual processor to another machine, and
// whatever runs there stops for milliseconds. No program of this machine can help that, and a question of one millisecond
// that meets it says nothing about whom it was put to.
//
//	a process of its own: Watch ──> lines ──> Read ──> Spans.Meet, which whoever measures asks
//
// On each processor a thread that goes before all others sleeps for half a millisecond and looks how late it wakes up, as
// jHiccup does (Gil Tene). Others that want the processor do not make it late, since it goes before them; so what
// programs do to each other is none. Two things are counted that are not the hypervisor's: a kernel that is busy and does
// not let go, and what goes first with more right. And to leave out what met a hiccup flatters whoever is slow, for what
// takes long meets one more easily: such a figure explains, it does not judge.
package hiccup
