package cdi

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/growth"
)

// Kind is the vendor and class of the devices.
const Kind = "gpushare/gpu"

// version is the specification's version. All fields in use exist since 0.6.
const version = "0.6.0"

// Name returns the qualified name of a GPU.
func Name(uuid growth.GPU) string { return Kind + "=" + deviceName(uuid) }

// deviceName replaces the slashes in UUIDs of older MIG instances, which CDI device names must not contain.
func deviceName(uuid growth.GPU) string { return strings.ReplaceAll(string(uuid), "/", "_") }

// Host is the part of the host that the specification depends on.
type Host struct {
	// Root is the host's root directory, with the driver's libraries and /proc/driver/nvidia.
	Root fs.FS
	// Driver is the driver's version, empty for emulated GPUs.
	Driver string
}

// Spec returns the specification of the devices.
func (h Host) Spec(devices []gpu.Device) (*specs.Spec, error) {
	spec := &specs.Spec{Version: version, Kind: Kind}
	if h.Driver != "" {
		spec.ContainerEdits = h.commonEdits()
	}
	for _, d := range devices {
		edits, err := h.deviceEdits(d)
		if err != nil {
			return nil, err
		}
		spec.Devices = append(spec.Devices, specs.Device{Name: deviceName(d.UUID), ContainerEdits: edits})
	}
	return spec, nil
}

// deviceEdits returns the edits for one device.
func (h Host) deviceEdits(d gpu.Device) (specs.ContainerEdits, error) {
	if h.Driver == "" {
		return specs.ContainerEdits{Env: []string{"GPUSHARE_EMULATED=1"}}, nil
	}
	if d.Minor < 0 {
		return specs.ContainerEdits{}, fmt.Errorf("the driver reports no device node (minor number) for GPU %s", d.UUID)
	}
	nodes := []*specs.DeviceNode{{Path: fmt.Sprintf("/dev/nvidia%d", d.Minor)}}
	if d.Instance == nil {
		return specs.ContainerEdits{DeviceNodes: nodes}, nil
	}
	gi := fmt.Sprintf("proc/driver/nvidia/capabilities/gpu%d/mig/gi%d", d.Minor, d.Instance.GPU)
	for _, capability := range []string{gi + "/access", fmt.Sprintf("%s/ci%d/access", gi, d.Instance.Compute)} {
		minor, err := h.capabilityMinor(capability)
		if err != nil {
			return specs.ContainerEdits{}, fmt.Errorf("MIG instance %s: %w", d.UUID, err)
		}
		nodes = append(nodes, &specs.DeviceNode{Path: fmt.Sprintf("/dev/nvidia-caps/nvidia-cap%d", minor)})
	}
	return specs.ContainerEdits{DeviceNodes: nodes}, nil
}

// capabilityMinor returns the minor number of the device node that grants access to a MIG instance.
func (h Host) capabilityMinor(file string) (int, error) {
	content, err := fs.ReadFile(h.Root, file)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(content)) {
		if name, value, ok := strings.Cut(line, ":"); ok && name == "DeviceFileMinor" {
			return strconv.Atoi(strings.TrimSpace(value))
		}
	}
	return 0, fmt.Errorf("%s has no DeviceFileMinor, the number of the device node", file)
}

// libraryDirs are the directories in which distributions install the driver's libraries.
var libraryDirs = []string{"usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/lib64", "usr/lib"}

// commonEdits returns the edits that every container with a GPU needs: control devices and libraries.
func (h Host) commonEdits() specs.ContainerEdits {
	edits := specs.ContainerEdits{Env: []string{"NVIDIA_VISIBLE_DEVICES=void"}} // disables the runtime hook
	for _, node := range []string{"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset"} {
		if _, err := fs.Stat(h.Root, "dev/"+node); err == nil {
			edits.DeviceNodes = append(edits.DeviceNodes, &specs.DeviceNode{Path: "/dev/" + node})
		}
	}
	for _, library := range h.libraries() {
		edits.Mounts = append(edits.Mounts, &specs.Mount{
			HostPath: "/" + library, ContainerPath: "/" + library, Options: []string{"ro", "nosuid", "nodev", "bind"},
		})
	}
	return edits
}

// libraries returns the library files of the driver's version and the links to them. A file mounted under the link's
// name is found without ldconfig.
func (h Host) libraries() []string {
	var found []string
	for _, dir := range libraryDirs {
		entries, err := fs.ReadDir(h.Root, dir)
		if err != nil {
			continue
		}
		for _, entry := range entries {
			name := entry.Name()
			stem, ours := strings.CutSuffix(name, ".so."+h.Driver)
			if !ours || !strings.HasPrefix(name, "libcuda") && !strings.HasPrefix(name, "libnvidia") {
				continue
			}
			found = append(found, path.Join(dir, name))
			for _, link := range entries {
				if suffix, ok := strings.CutPrefix(link.Name(), stem+".so."); ok && !strings.Contains(suffix, ".") {
					found = append(found, path.Join(dir, link.Name()))
				}
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}
