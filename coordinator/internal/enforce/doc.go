// Package enforce carries CPU shares to the kernel: pods' CPU requests are resized in place (KEP-1287), kubelet turns
// them into cgroup weights, and the weight is read back.
//
// Requests are soft: a weight, which idles no core, never a limit. Before a pod's first change the requests it was
// made with are kept on it. Requests are lowered before others are raised, since kubelet admits a resize against what
// the node can allocate. What kubelet defers or refuses is the loop's to see on the pod; nothing here waits for
// it, and the loop waits for nothing here: it leaves its newest wish and goes on.
package enforce
