//go:build e2e && linux

package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet/contract"
)

func TestContract_RealKubelet(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	contract.Run(t, func(t *testing.T) contract.Kubelet {
		return contract.Kubelet{
			PluginDir: n.dir("device-plugins"), PodResources: n.dir("pod-resources", "kubelet.sock"),
			Pods: &pods{t: t, node: n}, NodeStatus: n.status,
			Restart: func() { n.local(t, "restart-kubelet", "--node", nodeName) },
			LoseCheckpoint: func(fault contract.CheckpointFault) {
				// Kubelet reads the file only when it starts, and is killed before it writes the file again.
				require.NoError(t, fault(n.dir("device-plugins", contract.CheckpointFile)))
				n.local(t, "restart-kubelet", "--node", nodeName)
			},
		}
	})
}
