// Package contract is a conformance suite of the kubelet behaviour that the device plugin depends on.
//
// Two kubelets must pass it: the fake of package daemon/kubelettest, in unit tests, and the real kubelet of a local
// cluster, in deviceplugin/e2e. If the real kubelet changes its behaviour, the second fails. If the fake deviates,
// tests that use it prove nothing.
//
// Each case has its own resource and its own plugin, which records kubelet's calls. Cases cover documented behaviour
// and also incidental behaviour that the plugin depends on. For example, kubelet attributes the end of any plugin's
// stream to the plugin that currently serves the resource; it does not ask for preferred ids when it can reuse ids;
// it offers the ids of running containers if it has lost its checkpoint; and it starts a container without
// PreStartContainer if the plugin has not registered since kubelet's restart.
//
// Not covered, because a real node reaches these states slowly or only by fault injection:
//
//	a reboot                      containers are gone, the checkpoint stays: kubelet allocates for the same pods again
//	rejected running pods         a restarted kubelet rejects them if containerd reports them late
//	NUMA                          aligned ids are preferred; needs a topology policy and two NUMA nodes. Package e2e has
//	                              both; the fake has a Topology Manager, which the tests of package plugin use
//	PreStartContainer's deadline  30 s
//	a plugin that stays down      its capacity disappears after 5 minutes
package contract
