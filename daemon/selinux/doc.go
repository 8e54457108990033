// Package selinux labels the files that containers of other pods must reach, on nodes with SELinux.
//
// Kubelet relabels the volumes of a pod, but not the folders that a device plugin mounts into it. A slot below
// /var/lib/trellis would keep a type that no container may read, so that a job cannot connect to its socket. Share gives
// a file the type container_file_t without categories, which every container may use. Copy gives a file the label of
// another, for a socket that is created elsewhere and renamed into a slot.
//
// On a node without SELinux nothing is done. The package was not tried on a node that enforces SELinux.
package selinux
