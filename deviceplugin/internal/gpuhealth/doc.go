// Package gpuhealth decides which GPUs may be given to new jobs. It never stops a running job: the units of an
// unhealthy GPU only leave what kubelet and the extender count as free.
//
// A GPU becomes unhealthy for one of three reasons:
//
//	fault    an XID error that the policy counts against the GPU (Default, from NVIDIA's catalogue)
//	list     the driver does not list the GPU or cannot read it, twice in a row
//	silence  the driver has not answered for LossAfter
//
// It becomes healthy again after a delay, so that an unstable GPU does not affect job after job:
//
//	after a fault that needs a reset  once the GPU has disappeared and come back, or the node was rebooted
//	after another fault               RecoverAfter without a fault, doubled with each repetition up to a limit
//	after list or silence             RecoverAfter in which every list was good
//
// A single bad list changes nothing; it only makes the inventory list again soon.
//
//	driver faults ─> Listener ─> Monitor (a gpu.HealthCheck) ─> gpu.Inventory ─> EventRecorder ─> Kubernetes events
//	                    └─> FaultStore: faults survive a restart of the plugin, not a reboot
//
// Policy and Monitor are pure.
package gpuhealth
