// Package enforce applies CPU shares: it resizes the CPU requests of pods in place (KEP-1287), kubelet turns them into
// cgroup weights, and the weight is read back.
//
// A request is a weight and never a limit: no core idles. Before a pod's first resize its original requests are preserved
// in an annotation. Requests are lowered before others are raised, because kubelet admits a resize against what the node
// can allocate. Nothing here waits for kubelet: a resize that it defers or refuses shows in the pod's status.
package enforce
