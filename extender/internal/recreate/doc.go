// Package recreate gives pods that kubelet refused a second chance (--resubmit).
//
// Kubelet refuses a pod for good when it is asked to admit it while it does not know the device plugin: in the seconds in
// which that restarts, in its own first moments after a restart, when it takes in again what it found on the node, and
// after a reboot. A controller makes another pod then. A bare pod, as people submit training jobs, stays Failed for a
// reason that has nothing to do with it. Where this is on, it is deleted and made again under its own name, without what
// the cluster had added to it.
//
// The new pod is on the bus before the old one is deleted, and stays there until the API server has taken it: whoever
// dies in between, the job is not lost. Every step may be done twice, so any number of replicas may do it at once.
//
// Left alone are pods with a controller, pods that are to run at most once (restartPolicy: Never) of which a container
// was made, and pods that were refused too often: something is wrong there that does not pass.
package recreate
