// Package webhook serves kube-scheduler's extender API, version v1, over HTTP. It decodes requests, calls package
// scheduler, and encodes the results.
//
//	POST /filter      ExtenderArgs           → ExtenderFilterResult
//	POST /prioritize  ExtenderArgs           → HostPriorityList
//	POST /bind        ExtenderBindingArgs    → ExtenderBindingResult
//	POST /preempt     ExtenderPreemptionArgs → ExtenderPreemptionResult
//	GET  /explain/<namespace>/<pod>          → why a pod was placed as it was, as text; ?output=json for programs
//	GET  /inspect, /inspect/<node>           → the pods on each GPU, in Aliyun gpushare's JSON (growth/gpushare/aliyun)
//
// ExtenderArgs name the nodes (NodeNames, with nodeCacheCapable: true in the scheduler's configuration) or contain them
// (Nodes). The result has the same form. The errors of a decision are sent with status 200, in the result's own fields,
// because kube-scheduler reads no other body. Prioritize lists the nodes with points; a missing node has none. Any other
// body gets a 4xx status and {"error": …}. So does a preemption that cannot be decided yet (503), whose
// result has no field for errors.
//
// # Limits of preemption
//
// kube-scheduler requests victims only on nodes where its own dry run found some. The dry run sees the sum of a node's GPU
// memory, never a single GPU. A node whose sum is sufficient while each of its GPUs is too full is never sent: that is
// fragmentation, and no verb of this API solves it. Where the sum is too small, victims are chosen by GPU (growth/preempt).
// Room that other pods are nominated for, but do not hold yet, is not known here; the scheduler checks it again when it
// retries the pod.
//
// # Test data
//
// testdata has bodies as a stock kube-scheduler sent them. `go test -run TestRecord -record` records them again, with
// TRELLIS_STOCK_DIR set to a folder with etcd, kube-apiserver and kube-scheduler. v1.34-types has the same bodies as the
// types of k8s.io/kube-scheduler v0.34.2 encode them, which is what a scheduler two minor versions older sends.
package webhook
