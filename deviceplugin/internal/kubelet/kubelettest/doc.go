// Package kubelettest is a kubelet for tests: its real APIs on real sockets, and the part of its device manager that a
// plugin depends on.
//
// It registers a plugin, follows its devices, admits pods container by container as kubelet 1.36 does (what init
// containers leave, preferred ids, then any that are free, Allocate; a pod that is refused gives back what it had),
// calls PreStartContainer, lists resources with one entry per id and without ordinary init containers, and clears its
// folder of sockets when it restarts. What it knows of one resource survives that, as in kubelet's checkpoint.
//
// Package contract says what of this plugins may rely on, and holds the real kubelet to the same.
package kubelettest
