package plugin

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	deviceplugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/cdi"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/mps"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

const (
	// mpsPath is where a container finds its GPU's MPS daemon.
	mpsPath = "/run/gpushare-mps"
	// shmPath is where a client shares memory with the daemon. CUDA knows no other place.
	shmPath = "/dev/shm"
)

// delivery is what one container is given, and how.
type delivery struct {
	parts    []slice.Part
	devices  []gpu.Device
	unit     growth.MiB
	emulated bool
	cdi      bool
	mps      bool
	// cores is per cent of a GPU's compute, 0 for no limit.
	cores int
}

// environment is what the container learns of its share. GPUs are named by UUID, never by an index, which changes when
// a GPU drops out. A PYTHONPATH of the pod's own takes precedence over ours.
//
//	GPUSHARE_*                                    the shim, which caps PyTorch, and jobs that cap themselves
//	XLA_PYTHON_CLIENT_MEM_FRACTION                JAX: the most it takes, of the whole GPU
//	TF_FORCE_GPU_ALLOW_GROWTH                     TensorFlow: no cap from outside, but it takes only what it needs
//	ALIYUN_COM_GPU_MEM_*, CUDA_DEVICE_MEMORY_LIMIT_*  jobs written for gpushare and for HAMi
//	CUDA_MPS_*                                    the driver's own limits, where MPS is on
func (d delivery) environment() map[string]string {
	uuids := d.forEachPart(uuid)
	mebibytes := d.forEachPart(memory)
	fractions := d.forEachPart(fraction)
	units := 0
	env := map[string]string{
		"NVIDIA_VISIBLE_DEVICES":         strings.Join(uuids, ","),
		"GPUSHARE_GPU_UUIDS":             strings.Join(uuids, ","),
		"GPUSHARE_GPU_MEM_MIB":           strings.Join(mebibytes, ","),
		"GPUSHARE_GPU_MEM_FRACTION":      strings.Join(fractions, ","),
		"XLA_PYTHON_CLIENT_MEM_FRACTION": slices.Min(fractions), // one for all GPUs, and of equal length
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
	if d.cdi || d.emulated { // else the runtime hook would add what is given already, or what is not there
		env["NVIDIA_VISIBLE_DEVICES"] = "void"
	}
	if d.emulated {
		env["GPUSHARE_EMULATED"] = "1"
	}
	return env
}

// forEachPart says something of every GPU that is given.
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

// fraction is the part of a GPU's memory, rounded down to four places: a sum of fractions is never more than the GPU.
func fraction(d delivery, p slice.Part) string {
	tenThousandths := 10_000 * int64(growth.MiB(p.Units)*d.unit) / int64(d.device(p).Memory)
	return fmt.Sprintf("%d.%04d", tenThousandths/10_000, tenThousandths%10_000)
}

// device is the device that a part lies on. That it is known was checked before.
func (d delivery) device(p slice.Part) gpu.Device {
	return d.devices[slices.IndexFunc(d.devices, func(g gpu.Device) bool { return g.UUID == p.GPU })]
}

func (d delivery) cdiDevices() []*deviceplugin.CDIDevice {
	if !d.cdi {
		return nil
	}
	devices := make([]*deviceplugin.CDIDevice, len(d.parts))
	for i, p := range d.parts {
		devices[i] = &deviceplugin.CDIDevice{Name: cdi.Name(p.GPU)}
	}
	return devices
}

// clientMounts make a container a client of its GPU's MPS daemon.
func (d delivery) clientMounts(stateDir string) []*deviceplugin.Mount {
	return []*deviceplugin.Mount{
		{ContainerPath: mpsPath, HostPath: mps.PipeDir(stateDir, d.parts[0].GPU)},
		{ContainerPath: shmPath, HostPath: mps.ShmDir(stateDir)},
	}
}

// agreedCores is the limit of compute that all who ask for so many units agree on, 0 where they do not: Allocate names no
// pod, and a limit that is somebody else's is worse than none.
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
