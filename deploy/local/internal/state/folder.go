package state

import (
	"fmt"
	"path/filepath"
)

// Root is the folder of all clusters.
type Root string

// DefaultRoot is the default of --state-root.
const DefaultRoot Root = "/var/lib/trellis-local"

// maxRoot leaves space for the longest socket path below a cluster's folder.
const maxRoot = 48

// Validate checks that the root can hold clusters.
func (r Root) Validate() error {
	if !filepath.IsAbs(string(r)) {
		return fmt.Errorf("state root %q: give an absolute path", r)
	}
	if len(r) > maxRoot {
		return fmt.Errorf("state root %q has %d characters; at most %d, since sockets are below it", r, len(r), maxRoot)
	}
	return nil
}

// Cluster is the folder of one cluster.
func (r Root) Cluster(name string) Folder { return Folder(filepath.Join(string(r), name)) }

// Folder is one cluster's folder.
type Folder string

func (f Folder) join(parts ...string) string {
	return filepath.Join(append([]string{string(f)}, parts...)...)
}

// Record is the path of the cluster's record.
func (f Folder) Record() string { return f.join("state.json") }

// PKI holds the certificate authority and every certificate it issued.
func (f Folder) PKI(file string) string { return f.join("pki", file) }

// Kubeconfig is the path of a client configuration; "admin" is the one for users.
func (f Folder) Kubeconfig(user string) string {
	if user == "admin" {
		return f.join("kubeconfig")
	}
	return f.join("pki", user+".kubeconfig")
}

// Etcd holds the data of the API server's etcd.
func (f Folder) Etcd() string { return f.join("etcd") }

// Log is the path of a program's log.
func (f Folder) Log(program string) string { return f.join("logs", program+".log") }

// Node is a path in a node's own folder.
func (f Folder) Node(node string, parts ...string) string {
	return f.join(append([]string{"nodes", node}, parts...)...)
}

// PauseImage is the image of every pod's sandbox.
func (f Folder) PauseImage() string { return f.join("pause.tar") }

// Registries is the nodes' containerd configuration of registries: HOST/hosts.toml, as in /etc/containerd/certs.d.
func (f Folder) Registries() string { return f.join("registries") }

// Logs holds the log of every program.
func (f Folder) Logs() string { return f.join("logs") }
