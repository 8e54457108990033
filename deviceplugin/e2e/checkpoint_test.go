//go:build e2e && linux

package e2e

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/daemon/processtest"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet/contract"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// devicePlugin is the real device plugin, on the node of a local cluster, with emulated GPUs. The bus is unavailable: only the
// slots on disk know what kubelet forgets.
type devicePlugin struct {
	t      *testing.T
	node   *node
	pods   *pods
	lister *kubelet.Client
	health string

	devices []gpu.Device
}

// startDevicePlugin starts a device plugin with emulated GPUs.
func startDevicePlugin(t *testing.T, n *node, gpus string) *devicePlugin {
	dir := t.TempDir()
	program := filepath.Join(dir, "deviceplugin")
	out, err := exec.Command("go", "build", "-o", program, "..").CombinedOutput()
	require.NoError(t, err, string(out))
	health, err := processtest.FreeAddress()
	require.NoError(t, err)
	process, err := processtest.Start(processtest.Program{Path: program, Dir: dir, Args: []string{
		"--node-name=" + nodeName,
		"--gpus=" + gpus,
		"--plugin-dir=" + n.dir("device-plugins"),
		"--pod-resources=" + n.dir("pod-resources", "kubelet.sock"),
		"--state-dir=" + filepath.Join(dir, "state"),
		"--kubeconfig=" + n.local(t, "kubeconfig"),
		"--health-listen=" + health,
		"--etcd-endpoints=http://127.0.0.1:1",
	}})
	require.NoError(t, err)
	t.Cleanup(func() {
		process.Stop()
		if t.Failed() {
			t.Log(process.Output())
		}
	})
	lister, err := kubelet.Dial(n.dir("pod-resources", "kubelet.sock"), gpushare.Resource)
	require.NoError(t, err)
	t.Cleanup(func() { _ = lister.Close() })
	p := &devicePlugin{t: t, node: n, pods: &pods{t: t, node: n}, lister: lister, health: "http://" + health, devices: devicesOf(t, gpus)}
	p.awaitRegistration()
	return p
}

// awaitRegistration waits until kubelet has received the devices.
func (p *devicePlugin) awaitRegistration() {
	p.t.Helper()
	require.Eventually(p.t, func() bool {
		ids, err := p.lister.Allocatable(p.t.Context())
		return err == nil && len(ids) == p.units()
	}, timeout, 100*time.Millisecond, "the plugin is registered")
}

func devicesOf(t *testing.T, gpus string) []gpu.Device {
	source, ok, err := gpu.ParseEmulated(gpus, nodeName)
	require.True(t, ok)
	require.NoError(t, err)
	devices, err := source.Devices(t.Context())
	require.NoError(t, err)
	return devices
}

// units returns the number of units of all GPUs.
func (p *devicePlugin) units() (sum int) {
	for _, d := range p.devices {
		sum += slice.Units(d.Memory, growth.GiB)
	}
	return sum
}

// start runs a pod and returns kubelet's error.
func (p *devicePlugin) start(name string, units int) error {
	p.t.Helper()
	return p.pods.Start(contract.Pod{
		Name: name, Resource: gpushare.Resource, Containers: []contract.Container{{Name: "train", Units: units}},
	})
}

// ids returns the ids that a pod holds by kubelet's list.
func (p *devicePlugin) ids(pod string) []string {
	p.t.Helper()
	listing, err := p.lister.List(p.t.Context())
	require.NoError(p.t, err)
	for _, d := range listing.Devices {
		if d.Pod == pod {
			return d.IDs
		}
	}
	return nil
}

// events returns the messages of a pod's events of a reason.
func (p *devicePlugin) events(pod, reason string) string {
	out, err := exec.Command(p.node.program, "kubectl", "--name", p.node.name, "--", "get", "events",
		"--field-selector=involvedObject.name="+pod+",reason="+reason, "-o=jsonpath={.items[*].message}").Output()
	require.NoError(p.t, err)
	return string(out)
}

func (p *devicePlugin) metrics() string {
	response, err := http.Get(p.health + "/metrics")
	require.NoError(p.t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	require.NoError(p.t, err)
	return string(text)
}

func TestCheckpoint_RunningPodsKeepTheirUnits(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	p := startDevicePlugin(t, n, "emulated:1x10GiB")
	require.NoError(t, p.start("vae", 4))
	require.NoError(t, p.start("lstm", 4))
	held := map[string][]string{"vae": p.ids("vae"), "lstm": p.ids("lstm")}

	require.NoError(t, os.Truncate(n.dir("device-plugins", contract.CheckpointFile), 0))
	n.local(t, "restart-kubelet", "--node", nodeName)
	p.awaitRegistration()
	require.NoError(t, p.start("small", 2))
	require.Len(t, p.ids("small"), 2)
	require.Empty(t, p.ids("vae"), "kubelet has forgotten")
	for pod, ids := range held {
		for _, id := range ids {
			require.NotContains(t, p.ids("small"), id, "of %s", pod)
		}
	}
	require.ErrorContains(t, p.start("large", 4), "kubelet has forgotten that pod default/")
	require.Eventually(t, func() bool {
		return strings.Contains(p.events("vae", "DevicesForgotten"), "Kubelet has lost its record of the 4GiB") &&
			strings.Contains(p.events("lstm", "DevicesForgotten"), "container train")
	}, timeout, time.Second)
	require.Contains(t, p.metrics(), "trellis_deviceplugin_units_forgotten 8\n")

	// A container that ends does not start until kubelet restarts, and then has its units again.
	for _, pid := range p.pods.processes("vae", "train") {
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	}
	p.pods.awaitPod("vae", "cannot start", func(now corev1.Pod, _ bool) bool {
		waiting := status(now, "train").State.Waiting
		return waiting != nil && strings.Contains(waiting.Message, "no devices found allocated in local cache")
	})
	n.local(t, "restart-kubelet", "--node", nodeName)
	p.pods.awaitPod("vae", "runs again", func(now corev1.Pod, _ bool) bool { return running(now) })
	require.Equal(t, held["vae"], p.ids("vae"))
}
