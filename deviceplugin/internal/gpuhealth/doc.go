// Package gpuhealth decides which GPUs may be given to new jobs. It never stops a running job: kubelet and the extender
// only stop counting the units of an unhealthy GPU as free.
//
// The inventory lists the driver's GPUs at an interval. A GPU becomes unhealthy for one of three reasons:
//
//	fault    an XID error that makes a GPU unhealthy by the Policy; Default follows NVIDIA's catalogue
//	listing  the driver does not list the GPU or cannot read it: twice in a row, or when it is first seen
//	silence  the driver has not answered for LossAfter
//
// It becomes healthy again after a delay, so that an unstable GPU does not affect job after job:
//
//	after a fault that needs a reset  once the GPU has disappeared and come back, or the node has rebooted
//	after another fault               RecoverAfter without a fault, doubled with each repetition up to a limit
//	after listing or silence          once every listing for RecoverAfter has found the GPU readable
//
// One failed listing of a healthy GPU changes nothing, but the inventory then lists again soon.
//
//	driver faults ─> Listener ─> Monitor (a gpu.HealthCheck) ─> gpu.Inventory ─> EventRecorder ─> Kubernetes events
//	                    └─> FaultStore: faults survive a restart of the plugin, not a reboot
//
// Policy and Monitor are pure.
package gpuhealth
