package node

import (
	"os"
	"path/filepath"

	"github.com/trellis-gpu/trellis/deploy/local/internal/process"
)

func (l Layout) program(name string, args ...string) process.Program {
	return process.Program{
		Name: name,
		Path: filepath.Join(l.Stock, name),
		Args: args,
		// The stock folder first: containerd finds its shim there.
		Env: append(os.Environ(), "PATH="+l.Stock+":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
		Log: l.Log(name),
	}
}

// Containerd runs the node's containers.
func (l Layout) Containerd() process.Program {
	return l.program("containerd", "--config="+l.configPath(containerdConfig))
}

// Kubelet is the node's kubelet.
func (l Layout) Kubelet() process.Program {
	return l.program("kubelet",
		"--config="+l.configPath(kubeletConfig),
		"--config-dir="+l.dropIns(),
		"--kubeconfig="+l.Folder.Kubeconfig(l.Name),
		"--hostname-override="+l.Name,
		"--node-ip="+l.Addr.String(),
		"--node-labels="+Label,
	)
}

// Proxy is the node's kube-proxy, which routes connections to Services.
func (l Layout) Proxy() process.Program {
	return l.program("kube-proxy", "--config="+l.configPath(proxyConfig))
}
