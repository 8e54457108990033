// Package kubelettest is a kubelet for tests: its real APIs on real sockets, and the part of its device manager that a
// plugin depends on.
//
// It registers plugins, follows their devices, admits pods container by container as kubelet 1.36 does (preferred ids
// first, then any that are free, Allocate, and a pod that is refused gives back what it had), calls PreStartContainer,
// lists resources with one entry per id and without ordinary init containers, and clears its folder of sockets when
// it restarts.
package kubelettest
