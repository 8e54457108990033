package cdi_test

import (
	"log/slog"
	"testing"
	"testing/fstest"

	oci "github.com/opencontainers/runtime-spec/specs-go"
	"github.com/stretchr/testify/require"
	library "tags.cncf.io/container-device-interface/pkg/cdi"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/cdi"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
)

// host is a Debian host with driver 550.54.15 and one GPU in MIG mode.
var host = cdi.Host{Driver: "550.54.15", Root: fstest.MapFS{
	"dev/nvidiactl":  {},
	"dev/nvidia-uvm": {},
	"usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15":      {},
	"usr/lib/x86_64-linux-gnu/libcuda.so.1":              {},
	"usr/lib/x86_64-linux-gnu/libnvidia-ml.so.550.54.15": {},
	"usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1":         {},
	"usr/lib/x86_64-linux-gnu/libc.so.6":                 {},
	"usr/lib/x86_64-linux-gnu/libcuda.so.470.1":          {},
	"proc/driver/nvidia/capabilities/gpu1/mig/gi7/access": {Data: []byte(
		"DeviceFileMinor: 66\nDeviceFileMode: 292\n")},
	"proc/driver/nvidia/capabilities/gpu1/mig/gi7/ci0/access": {Data: []byte("DeviceFileMinor: 67\n")},
}}

type list []gpu.Device

func (l list) Devices() ([]gpu.Device, <-chan struct{}) { return l, nil }

var devices = list{
	{UUID: "GPU-a", Minor: 0},
	{UUID: "MIG-GPU-b/7/0", Minor: 1, Instance: &gpu.Instance{Parent: "GPU-b", GPU: 7}},
}

// inject returns the OCI specification after a runtime has added the devices.
func inject(t *testing.T, h cdi.Host, devices list, names ...string) *oci.Spec {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, cdi.Writer{
		Dir:       dir,
		Host:      h,
		Inventory: devices,
		Log:       slog.New(slog.DiscardHandler),
	}.Write())
	cache, err := library.NewCache(library.WithSpecDirs(dir))
	require.NoError(t, err)
	require.Empty(t, cache.GetErrors())
	for _, name := range names {
		require.NotNil(t, cache.GetDevice(name), "%s is not found in %v", name, cache.ListDevices())
	}
	spec := &oci.Spec{}
	if h.Driver == "" { // only existing device nodes can be injected
		_, err = cache.InjectDevices(spec, names...)
		require.NoError(t, err)
	}
	return spec
}

func TestWriter_RuntimeFindsDevices(t *testing.T) {
	inject(t, host, devices, cdi.Name("GPU-a"), cdi.Name("MIG-GPU-b/7/0"))
	spec := inject(t, cdi.Host{}, devices, cdi.Name("GPU-a"))
	require.Equal(t, []string{"GPUSHARE_EMULATED=1"}, spec.Process.Env)
}

func TestSpec(t *testing.T) {
	spec, err := host.Spec(devices)
	require.NoError(t, err)
	var nodes, mounts []string
	for _, n := range spec.ContainerEdits.DeviceNodes {
		nodes = append(nodes, n.Path)
	}
	for _, m := range spec.ContainerEdits.Mounts {
		require.Equal(t, m.HostPath, m.ContainerPath)
		mounts = append(mounts, m.HostPath)
	}
	require.Equal(t, []string{"/dev/nvidiactl", "/dev/nvidia-uvm"}, nodes)
	require.Equal(t, []string{
		"/usr/lib/x86_64-linux-gnu/libcuda.so.1", "/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15",
		"/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.550.54.15",
	}, mounts)
	nodes = nil
	for _, n := range spec.Devices[1].ContainerEdits.DeviceNodes {
		nodes = append(nodes, n.Path)
	}
	require.Equal(t, []string{"/dev/nvidia1", "/dev/nvidia-caps/nvidia-cap66", "/dev/nvidia-caps/nvidia-cap67"}, nodes)
}

func TestSpec_NamesIncompleteDevice(t *testing.T) {
	_, err := host.Spec([]gpu.Device{{UUID: "GPU-x", Minor: -1}})
	require.ErrorContains(t, err, "GPU-x")
	_, err = host.Spec([]gpu.Device{{UUID: "MIG-x", Minor: 1, Instance: &gpu.Instance{GPU: 9}}})
	require.ErrorContains(t, err, "MIG-x")
}
