// Package conflict detects the scheduler extender of Aliyun gpushare, which also serves aliyun.com/gpu-mem. Each of the two
// would bind pods by its own records, and would not see the other's promises until kubelet rejects a pod. One of them must
// stop, and this one does, with an error that says so.
//
// The other extender is recognised by the label of its manifests, component=gpushare-schd-extender, on a running pod. The
// check runs before anything is served, and then once a minute, if that resource is served.
package conflict
