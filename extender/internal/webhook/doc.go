// Package webhook is the wire between kube-scheduler and the decisions: the extender API, version v1, over HTTP.
//
//	POST /filter      ExtenderArgs         → ExtenderFilterResult
//	POST /prioritize  ExtenderArgs         → HostPriorityList
//	POST /bind        ExtenderBindingArgs  → ExtenderBindingResult
//	GET  /explain/<namespace>/<pod>        → why each node fared as it did, for people; ?output=json for programs
//
// ExtenderArgs name the nodes (NodeNames, where the scheduler was configured with nodeCacheCapable: true) or hold them
// whole (Nodes); the answer takes the same form. What the decision says goes out with status 200, in the result's own
// fields, because kube-scheduler reads no other body. A body that is none of the above is answered with a 4xx status
// and {"error": …}.
//
// testdata holds bodies as a stock kube-scheduler sent them, untouched; `go test -run TestRecord -record` with
// TRELLIS_STOCK_DIR naming a folder with etcd, kube-apiserver and kube-scheduler records them anew.
package webhook
