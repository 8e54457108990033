// Package recreate recreates bare pods that kubelet rejected (--recreate).
//
// Kubelet rejects a pod for good if it must admit the pod while it does not know the device plugin: while the device plugin
// restarts, shortly after kubelet's own restart, when it admits again the pods that it finds on the node, and after a
// reboot. A controller then creates another pod. A bare pod, as people submit training jobs, stays Failed for a reason
// outside its control. With this option it is deleted and created again under its own name, without the fields that the
// cluster added.
//
// The new pod is on the bus before the old one is deleted, and stays there until the API server has accepted it. A crash in
// between does not lose the job. Every step may be repeated, so any number of replicas may recreate at once.
//
// Kubelet also rejects pods for want of CPU, memory or aligned resources, when others were faster. They are recreated too.
//
// Some pods are left alone: pods with a controller, pods that may have run, and pods that were rejected too often, whose
// cause does not pass. A restarted kubelet also rejects pods that have run for hours, and deletes their container statuses.
// Other evidence is therefore considered too: the category on the pod, the time between its start and its rejection, and
// its sample, advice and allocation on the bus.
//
// The new pod has the node of the rejected one if the user had set it, and otherwise none. If it asks for GPU memory by its containers'
// limits alone, it lacks the annotations of its user, which admission refuses on a new pod of that kind (Admissible).
package recreate
