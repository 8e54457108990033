//go:build e2e && linux

package e2e

import (
	"testing"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet/contract"
)

func TestTheRealKubeletPassesTheContract(t *testing.T) {
	n := newNode(t)
	contract.Run(t, func(t *testing.T) contract.Kubelet {
		return contract.Kubelet{
			Plugins: n.folder("device-plugins"), Resources: n.folder("pod-resources", "kubelet.sock"),
			Pods: &pods{t: t, node: n}, Node: n.reported,
			Restart: func() { n.local(t, "restart-kubelet", "--node", nodeName) },
		}
	})
}
