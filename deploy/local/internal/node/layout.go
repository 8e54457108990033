package node

import (
	"fmt"

	"github.com/trellis-gpu/trellis/deploy/local/internal/network"
	"github.com/trellis-gpu/trellis/deploy/local/internal/state"
)

// Layout is one node of a cluster and where its files are.
type Layout struct {
	network.Node
	Plan       network.Plan
	Folder     state.Folder
	Stock      string // the folder of the stock programs
	Cores      Cores
	NUMANodes  int    // 1: those of the machine
	CgroupRoot string // below each hierarchy's mount
}

// PauseImage is the image of the first process of every pod's sandbox.
const PauseImage = "trellis.local/pause:1"

// Socket is where containerd listens, inside of the node.
const Socket = "/run/containerd/containerd.sock"

// Label marks the nodes that Trellis' agents run on.
const Label = "gpushare=true"

// cniPlugins is where Debian's containernetworking-plugins live.
const cniPlugins = "/usr/lib/cni"

// NewLayout finds a node in the cluster's record.
func NewLayout(folder state.Folder, r state.Record, name, cgroupRoot string) (Layout, error) {
	n, ok := r.Node(name)
	if !ok {
		return Layout{}, fmt.Errorf("cluster %q has no node %q", r.Plan.Cluster, name)
	}
	cores, err := ParseCores(r.Cores[name])
	if err != nil {
		return Layout{}, err
	}
	return Layout{
		Node: n, Plan: r.Plan, Folder: folder, Stock: r.Stock,
		Cores: cores, NUMANodes: r.NUMANodes, CgroupRoot: cgroupRoot,
	}, nil
}

// path is a path in the node's own folder.
func (l Layout) path(parts ...string) string { return l.Folder.Node(l.Name, parts...) }

// Log is the path of the log of one of the node's programs.
func (l Layout) Log(program string) string { return l.Folder.Log(l.Name + "-" + program) }

// private are the folders of a machine that each node has for itself, and where the cluster's folder keeps them.
func (l Layout) private() map[string]string {
	return map[string]string{
		"/var/lib/kubelet":    l.path("kubelet"),
		"/var/lib/trellis":    l.path("trellis"),
		"/var/lib/cni":        l.path("cni", "cache"),
		"/var/log/pods":       l.path("log", "pods"),
		"/var/log/containers": l.path("log", "containers"),
	}
}

// HostFolders lists the folders that must exist on the host for nodes to mount over. They stay empty there.
func HostFolders() []string {
	var folders []string
	for target := range (Layout{}).private() {
		folders = append(folders, target)
	}
	return folders
}
