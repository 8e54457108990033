// Package storm lets bursts of pods arrive on real kubelets while those and the device plugins are killed, and judges
// whether every container got the GPU that everybody believes it got.
//
// Plan draws a round from a seed: pods of equal or of mixed sizes, in bursts, the last few of which stay until they are let
// go; and for each node one kill -9 of its kubelet and one of its device plugin, while pods come and go. Storm plays the
// rounds on a local cluster.
//
// What is judged is not taken from our own word. Four witnesses are compared:
//
//	the container     its environment and the machine's uptime at its begin and end, in its termination message
//	kubelet           its checkpoint file, read all the time, and its PodResources API
//	the API server    the pod: how it ended, and the annotation gpushare/gpu
//	our ledger        the device plugin's allocations on the bus, watched, and its slots on disk
//
// Judge (of a round) and Drift (of a moment of rest) are pure. A container has the wrong GPU where the four do not agree; a
// GPU is over-committed where containers that lived at one moment have more memory of it than there is, by their own
// clocks; a pod is lost where it did not end well, whatever the reason: these pods have no controller that would make
// another.
package storm
