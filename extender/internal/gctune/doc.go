// Package gctune makes garbage collections rare, and moves them to times without requests.
//
// Rare: GOGC is a proportion. A value that keeps a cluster of thousands of nodes within its memory limit collects the heap
// of a small cluster, a few MiB, several times a second while pods arrive. Marking then takes a tenth of all CPU time of the
// extender. With a floor the heap grows to that size first, however small its live part is. Above the floor the heap may be
// four times its live part, up to a ceiling; where GOGC alone allows more, nothing changes.
//
// Without requests: a request takes three times as long while the heap is marked, and with tens of thousands of pods that
// lasts half a second. Pods arrive in bursts. Once half of the room to grow is used, the next long idle period is used for a
// collection. The other half is enough for some thousand requests.
package gctune
