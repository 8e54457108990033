// Package contract says what the device plugin relies on in kubelet's behaviour, as cases that two kubelets pass: the one
// that unit tests play with (package kubelettest), in every run of them, and the real one of the local cluster
// (deviceplugin/e2e), in make test. Where the real kubelet comes to do something else, the second fails; where the played
// one does, what was tested with it was tested against nothing.
//
// Each case has a resource and a plugin of its own, a probe, which writes down what it is asked. Cases speak of what kubelet
// promises and of what it happens to do, where our code is built on that: that it takes the end of a plugin for the end of
// whichever one has the resource by then, that it does not ask for what it can reuse, that a container which starts before
// its plugin has registered with a restarted kubelet is announced to nobody.
//
// Not here, for a real node can not be brought to it without tricks, or not soon:
//
//	a reboot                      containers gone, checkpoint kept: kubelet allocates the same pods anew
//	running pods that are refused by a kubelet that restarts, where containerd does not tell it in time that they run
//	NUMA                          aligned ids are preferred among first; needs a topology policy and a machine with two
//	PreStartContainer's deadline  30 s
//	a plugin that stays away      its capacity goes, too, after 5 minutes
package contract
