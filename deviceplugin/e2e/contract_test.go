//go:build e2e && linux

package e2e

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

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

// A container is said to run before it does: that its environment is read then must not depend on who is faster.
func TestAnEnvironmentIsThatOfTheContainersProgram(t *testing.T) {
	process := exec.CommandContext(t.Context(), "/bin/sh", "-c", "sleep 0.2; OF=program exec "+program+" 60")
	process.Env = []string{"OF=runtime"}
	require.NoError(t, process.Start())
	t.Cleanup(func() { _ = process.Wait() })
	environment := (&pods{t: t}).environment(filepath.Join("/proc", strconv.Itoa(process.Process.Pid)))
	require.Contains(t, environment, "OF=program\x00")
}
