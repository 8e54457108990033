// Package gpuhealth decides which GPUs may be given to new jobs. Nothing here stops a job that runs: an unhealthy GPU's
// units are taken from what kubelet and the extender count as free, and that is all.
//
// Three things condemn a GPU:
//
//	a fault    an XID error whose number the policy holds against it (Default, from NVIDIA's catalogue)
//	the list   the driver no longer lists it, or can not read it, twice in a row
//	silence    the driver has answered nothing for LossAfter
//
// And it takes time to be trusted again, so that a GPU which comes and goes does not drag jobs along:
//
//	after a fault that calls for a reset  when the GPU was seen to go and come back, or the node was booted since
//	after another fault                   RecoverAfter without a further one, doubled with each repetition up to a limit
//	after the list or silence             RecoverAfter in which every list was fine
//
// One bad list condemns nobody: it is doubted, and the driver asked again a moment later. Policy and Monitor are pure;
// Listener feeds them from the driver, and Herald tells people.
package gpuhealth
