// Package node is one node of a local cluster: a process that is the init of its own PID, mount, network and host
// name namespaces, and below it an unchanged containerd, kubelet and kube-proxy.
//
// Each node has its own:
//
//   - mounts: /run is a fresh tmpfs, and the folders that kubelet and Trellis' agents keep on a machine
//     (/var/lib/kubelet, with the fixed device-plugin folder; /var/lib/trellis; pod and container logs) are
//     bind mounts from the cluster's folder. Nothing of it is seen on the host, and the kernel undoes all of it
//     with the last process.
//   - network: one veth pair to the cluster's bridge, see package network.
//   - processors: copies of /proc/cpuinfo and /sys/devices/system/{cpu,node} with only the node's cores ([WriteCPUTree]).
//     Kubelet counts these; the node's cgroup root has the same cores, so the two agree.
//   - processes: killing the init ends everything in the node, pods included.
//
// The rest of the file system is the host's own; pods that hostPath-mount /usr run the host's programs.
package node
