package plugin

import (
	"fmt"
	"net"
	"path/filepath"
	"time"
)

// otherPlugin is a device plugin that hands out the GPUs we do, by the name of its socket in kubelet's folder.
type otherPlugin struct{ socket, name, remedy string }

func otherPlugins() []otherPlugin {
	return []otherPlugin{
		{"aliyungpushare.sock", "gpushare's device plugin", "delete its DaemonSet (kube-system/gpushare-device-plugin-ds, as it is shipped)"},
		{"nvidia-gpu.sock", "the device plugin of NVIDIA or of HAMi", "keep its DaemonSet off nodes that are labelled gpushare=true"},
	}
}

// checkOtherPlugins refuses to serve beside a live plugin that hands out the same GPUs under whatever resource: kubelet keeps books
// per resource, and each would give away all the memory there is. A socket that nobody answers at is a leftover.
func (l *Registrar) checkOtherPlugins() error {
	if l.Server.Emulated {
		return nil // nobody else can hand those out
	}
	for _, f := range otherPlugins() {
		path := filepath.Join(l.Dir, f.socket)
		connection, err := net.DialTimeout("unix", path, time.Second)
		if err != nil {
			continue
		}
		process := peerName(connection)
		_ = connection.Close()
		return fmt.Errorf("%w: %s, %s, answers at %s and hands out the same GPUs: %s; its pods go on, and this plugin starts once it is gone",
			errConflict, f.name, process, path, f.remedy)
	}
	return nil
}
