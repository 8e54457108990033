//go:build cgo

package nvml

import (
	"bytes"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/growth"
)

// numaNode returns the NUMA node of a GPU's bus address according to the kernel, or -1. NVML's call of that name is
// for GPUs that are NUMA nodes themselves.
func (s *Source) numaNode(h nvml.Device) int {
	pci, code := h.GetPciInfo()
	if code != nvml.SUCCESS {
		return -1
	}
	address := fmt.Sprintf("%04x:%02x:%02x.0", pci.Domain, pci.Bus, pci.Device)
	content, err := fs.ReadFile(s.sys, "bus/pci/devices/"+address+"/numa_node")
	if err != nil {
		return -1
	}
	node, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return -1
	}
	return node
}

// setLinks sets the GPUs that each GPU reaches over NVLink, directly or through a common switch.
func setLinks(gpus []handle) {
	byAddress := map[string]growth.GPU{}
	for _, b := range gpus {
		if pci, code := b.nvml.GetPciInfo(); code == nvml.SUCCESS {
			byAddress[busAddress(pci)] = b.UUID
		}
	}
	switched := map[string][]growth.GPU{} // by the switch's address
	links := map[growth.GPU][]growth.GPU{}
	for _, b := range gpus {
		for _, remote := range remoteAddresses(b.nvml) {
			if peer, ok := byAddress[remote]; ok {
				links[b.UUID] = append(links[b.UUID], peer)
			} else {
				switched[remote] = append(switched[remote], b.UUID)
			}
		}
	}
	for _, group := range switched {
		for _, one := range group {
			links[one] = append(links[one], group...)
		}
	}
	for i, b := range gpus {
		peers := slices.DeleteFunc(links[b.UUID], func(peer growth.GPU) bool { return peer == b.UUID })
		slices.Sort(peers)
		gpus[i].Links = slices.Compact(peers)
	}
}

// remoteAddresses returns the bus addresses at the other ends of a GPU's NVLinks.
func remoteAddresses(h nvml.Device) []string {
	var remote []string
	for link := range nvml.NVLINK_MAX_LINKS {
		state, code := h.GetNvLinkState(link)
		if code != nvml.SUCCESS {
			return remote // no more links, or no NVLink
		}
		if state != nvml.FEATURE_ENABLED {
			continue
		}
		if pci, code := h.GetNvLinkRemotePciInfo(link); code == nvml.SUCCESS {
			remote = append(remote, busAddress(pci))
		}
	}
	return remote
}

func busAddress(pci nvml.PciInfo) string {
	text, _, _ := bytes.Cut(pci.BusId[:], []byte{0})
	return strings.ToLower(string(text))
}

// expandMIG returns a GPU's MIG instances, or the GPU itself without MIG. A GPU in MIG mode without instances has no
// memory to advertise, nor has a GPU whose mode is unknown.
func expandMIG(parent handle) []handle {
	mode, _, code := parent.nvml.GetMigMode()
	switch {
	case code == nvml.ERROR_NOT_SUPPORTED, code == nvml.ERROR_FUNCTION_NOT_FOUND,
		code == nvml.SUCCESS && mode != nvml.DEVICE_MIG_ENABLE:
		return []handle{parent}
	case code != nvml.SUCCESS:
		parent.Memory = 0
		parent.Healthy = false
		parent.Reason = "its MIG mode cannot be read: " + code.Error()
		return []handle{parent}
	}
	count, code := parent.nvml.GetMaxMigDeviceCount()
	if code != nvml.SUCCESS {
		return nil
	}
	var instances []handle
	for i := range count {
		h, code := parent.nvml.GetMigDeviceHandleByIndex(i)
		if code != nvml.SUCCESS {
			continue // an unused index
		}
		d, ok := queryDevice(h)
		gi, first := h.GetGpuInstanceId()
		ci, second := h.GetComputeInstanceId()
		if !ok || first != nvml.SUCCESS || second != nvml.SUCCESS {
			continue
		}
		d.Instance = &gpu.Instance{Parent: parent.UUID, GPU: gi, Compute: ci}
		d.Minor = parent.Minor
		d.NUMA = parent.NUMA
		instances = append(instances, handle{d, h})
	}
	return instances
}
