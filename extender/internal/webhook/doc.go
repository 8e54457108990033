// Package webhook is the wire between kube-scheduler and the decisions: the extender API, version v1, over HTTP.
//
//	POST /filter      ExtenderArgs         → ExtenderFilterResult
//	POST /prioritize  ExtenderArgs         → HostPriorityList
//	POST /bind        ExtenderBindingArgs  → ExtenderBindingResult
//	POST /preempt     ExtenderPreemptionArgs → ExtenderPreemptionResult
//	GET  /explain/<namespace>/<pod>        → why each node fared as it did, for people; ?output=json for programs
//	GET  /inspect, /inspect/<node>         → who is on which GPU, in gpushare's JSON (growth/gpushare/aliyun)
//
// ExtenderArgs name the nodes (NodeNames, where the scheduler was configured with nodeCacheCapable: true) or hold them
// whole (Nodes); the answer takes the same form. What the decision says goes out with status 200, in the result's own
// fields, because kube-scheduler reads no other body. Prioritize lists the nodes that have points: one that is not listed has
// none. A body that is none of the above is answered with a 4xx status
// and {"error": …}; so is a preemption that can not be judged yet (503), whose result has no field for errors.
//
// # What preemption can not do here
//
// kube-scheduler asks for victims only on nodes where its own dry run found some, and the dry run sees the sum of a node's
// GPU memory, never a single GPU. A node whose sum is enough while each of its GPUs is too full never reaches us: that
// is fragmentation, and no verb of this API answers it. Where the sum is short the victims are chosen anew, by GPU
// (growth/preempt). Rooms that other pods are nominated for, but do not hold yet, are not known here; the scheduler's own
// check of them decides again when the pod is tried next.
//
// testdata holds bodies as a stock kube-scheduler sent them, untouched; `go test -run TestRecord -record` with
// TRELLIS_STOCK_DIR naming a folder with etcd, kube-apiserver and kube-scheduler records them anew. v1.34-types holds the
// same bodies as the types of k8s.io/kube-scheduler v0.34.2 write them, which is what a scheduler two minors older sends.
package webhook
