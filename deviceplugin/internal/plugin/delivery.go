package plugin

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/cdi"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/mps"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

const (
	// mpsPath is the path of the GPU's MPS pipe directory in a container.
	mpsPath = "/run/gpushare-mps"
	// shmPath is the shared memory of an MPS client and its daemon. CUDA uses no other path.
	shmPath = "/dev/shm"
)

// delivery describes what one container receives and by which mechanism.
type delivery struct {
	parts    []slice.Part
	devices  []gpu.Device
	unit     growth.MiB
	emulated bool
	cdi      bool
	mps      bool
	// cores is the limit in percent of a GPU's threads, or 0.
	cores int
}

// environment returns the container's variables. GPUs are named by UUID, because indices change when a GPU is lost. A
// PYTHONPATH of the pod's own takes precedence.
//
//	GPUSHARE_*                      for the shim, which caps PyTorch, and for jobs that cap themselves
//	GPUSHARE_EMULATED_CORE          for jobs that do the work of emulated GPUs on the cores that these own
//	XLA_PYTHON_CLIENT_MEM_FRACTION  for JAX: its limit, as a fraction of the whole GPU
//	TF_FORCE_GPU_ALLOW_GROWTH       for TensorFlow: it has no external limit, and allocates only what it needs
//	ALIYUN_COM_GPU_MEM_*            for jobs written for Aliyun gpushare
//	CUDA_DEVICE_MEMORY_LIMIT_*      for jobs written for HAMi
//	CUDA_MPS_*                      limits that the driver enforces, with MPS
func (d delivery) environment() map[string]string {
	uuids := d.forEachPart(uuid)
	mebibytes := d.forEachPart(memory)
	fractions := d.forEachPart(fraction)
	units := 0
	env := map[string]string{
		"NVIDIA_VISIBLE_DEVICES":    strings.Join(uuids, ","),
		"GPUSHARE_GPU_UUIDS":        strings.Join(uuids, ","),
		"GPUSHARE_GPU_MEM_MIB":      strings.Join(mebibytes, ","),
		"GPUSHARE_GPU_MEM_FRACTION": strings.Join(fractions, ","),
		// one value for all GPUs; the strings have equal lengths
		"XLA_PYTHON_CLIENT_MEM_FRACTION": slices.Min(fractions),
		"TF_FORCE_GPU_ALLOW_GROWTH":      "true",
		"PYTHONPATH":                     gpushare.MountPath,
	}
	for i, p := range d.parts {
		env["CUDA_DEVICE_MEMORY_LIMIT_"+strconv.Itoa(i)] = mebibytes[i] + "m"
		units += p.Units
	}
	env["ALIYUN_COM_GPU_MEM_CONTAINER"] = strconv.Itoa(units)
	env["ALIYUN_COM_GPU_MEM_DEV"] = strconv.Itoa(slice.Units(d.device(d.parts[0]).Memory, d.unit))
	if d.mps {
		env["CUDA_MPS_PIPE_DIRECTORY"] = mpsPath
		env["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"] = "0=" + mebibytes[0] + "M"
		if d.cores > 0 {
			env["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] = strconv.Itoa(d.cores)
		}
	}
	if d.cdi || d.emulated { // the runtime hook must not add GPUs that CDI adds or that do not exist
		env["NVIDIA_VISIBLE_DEVICES"] = "void"
	}
	if d.emulated {
		env["GPUSHARE_EMULATED"] = "1"
	}
	if cores := d.ownedCores(); len(cores) > 0 {
		env["GPUSHARE_EMULATED_CORE"] = strings.Join(cores, ",")
	}
	return env
}

// forEachPart formats one value per GPU.
func (d delivery) forEachPart(format func(delivery, slice.Part) string) []string {
	values := make([]string, len(d.parts))
	for i, p := range d.parts {
		values[i] = format(d, p)
	}
	return values
}

func uuid(_ delivery, p slice.Part) string { return string(p.GPU) }

func memory(d delivery, p slice.Part) string {
	return strconv.FormatInt(int64(growth.MiB(p.Units)*d.unit), 10)
}

// fraction is the part of a GPU's memory, rounded down to four digits: the fractions of a GPU never add up to more
// than 1.
func fraction(d delivery, p slice.Part) string {
	tenThousandths := 10_000 * int64(growth.MiB(p.Units)*d.unit) / int64(d.device(p).Memory)
	return fmt.Sprintf("%d.%04d", tenThousandths/10_000, tenThousandths%10_000)
}

// ownedCores returns the cores that the GPUs own, if they are emulated ones that compute.
func (d delivery) ownedCores() (cores []string) {
	for _, p := range d.parts {
		if core := d.device(p).Core; core != nil {
			cores = append(cores, strconv.Itoa(*core))
		}
	}
	return cores
}

// device returns the device of a part. checkAdvertised has verified that it exists.
func (d delivery) device(p slice.Part) gpu.Device {
	return d.devices[slices.IndexFunc(d.devices, func(g gpu.Device) bool { return g.UUID == p.GPU })]
}

func (d delivery) cdiDevices() []*pluginapi.CDIDevice {
	if !d.cdi {
		return nil
	}
	devices := make([]*pluginapi.CDIDevice, len(d.parts))
	for i, p := range d.parts {
		devices[i] = &pluginapi.CDIDevice{Name: cdi.Name(p.GPU)}
	}
	return devices
}

// clientMounts returns the mounts that make a container a client of its GPU's MPS daemon.
func (d delivery) clientMounts(stateDir string) []*pluginapi.Mount {
	return []*pluginapi.Mount{
		{ContainerPath: mpsPath, HostPath: mps.PipeDir(stateDir, d.parts[0].GPU)},
		{ContainerPath: shmPath, HostPath: mps.ShmDir(stateDir)},
	}
}

// agreedCores returns the compute limit that all requests of this size share, or 0. Allocate does not name the pod,
// and another pod's limit would be worse than none.
func agreedCores(demands []slice.Demand, units int) int {
	agreed := -1
	for _, d := range demands {
		if d.Units != units {
			continue
		}
		if agreed >= 0 && d.Cores != agreed {
			return 0
		}
		agreed = d.Cores
	}
	return max(agreed, 0)
}
