// Package folders finds kubelet's sockets, and names the folder that is missing if they are elsewhere.
//
// Kubelet's --root-dir moves the folder of the PodResources API. The folder of device plugins is /var/lib/kubelet in the
// stock kubelet in any case, but some distributions move it too. A wrong folder is empty, so that a pod which
// mounts it would wait without end; Check ends it with the setting to change instead.
package folders
