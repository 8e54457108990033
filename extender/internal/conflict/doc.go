// Package conflict looks for gpushare's own scheduler extender, which serves aliyun.com/gpu-mem too. Both would bind pods by books
// of their own: neither sees what the other has promised until kubelet refuses it. So one of the two must go, and this one
// says so and ends.
//
// It is recognised by the label that its shipped manifests bear, component=gpushare-schd-extender, on a running pod. It is
// looked for before anything is served, and once a minute after that, where that resource is the one that is served.
package conflict
