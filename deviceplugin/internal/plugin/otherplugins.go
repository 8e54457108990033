package plugin

import (
	"fmt"
	"net"
	"path/filepath"
	"time"
)

// otherPlugin is a device plugin of the same GPUs, identified by its socket in kubelet's plugin directory.
type otherPlugin struct{ socket, name, remedy string }

func otherPlugins() []otherPlugin {
	return []otherPlugin{
		{"aliyungpushare.sock", "Aliyun gpushare's device plugin",
			"delete its DaemonSet (kube-system/gpushare-device-plugin-ds by default)"},
		{"nvidia-gpu.sock", "the device plugin of NVIDIA or of HAMi",
			"keep its DaemonSet off nodes that are labelled gpushare=true"},
	}
}

// checkOtherPlugins returns an error if a running plugin serves the same GPUs under another resource name. Kubelet
// counts each resource separately, so each plugin would allocate all the memory. A stale socket is not an error.
func (r *Registrar) checkOtherPlugins() error {
	if r.Server.Emulated {
		return nil // no other plugin can allocate emulated GPUs
	}
	for _, f := range otherPlugins() {
		path := filepath.Join(r.Dir, f.socket)
		connection, err := net.DialTimeout("unix", path, time.Second)
		if err != nil {
			continue
		}
		process := peerName(connection)
		_ = connection.Close()
		return fmt.Errorf(
			"%w: %s, %s, serves at %s and allocates the same GPUs: %s; its pods keep running, and this plugin starts once "+
				"the other one has stopped",
			errConflict, f.name, process, path, f.remedy)
	}
	return nil
}
