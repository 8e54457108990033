// Package enforce applies CPU shares: it resizes the CPU requests of pods in place (KEP-1287), kubelet converts them to
// cgroup weights, and the weight is read back.
//
// A request is a weight and not a limit, so no core idles. Before the first resize of a pod its original requests are
// saved in an annotation. A request that another client has changed since the decision is not overwritten: each patch has
// the resource version of the pod that was compared with the decision. Requests are lowered before others are raised, and only by as much as was released: the sum of
// all requests never exceeds the decided one. No call waits for kubelet: a resize that it defers or refuses shows in the
// pod's status. A raise that a quota refuses because lowered requests still count is repeated for some seconds.
package enforce
