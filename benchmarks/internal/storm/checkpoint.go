package storm

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// ParseCheckpoint reads kubelet's device checkpoint: the device IDs of our resource, by pod. It interprets an ID
// itself, independently of the code under test: "<GPU uuid>/<n>" is one GiB of that GPU.
func ParseCheckpoint(text []byte) (map[growth.PodUID][]string, error) {
	var file struct {
		Data struct {
			PodDeviceEntries []struct {
				PodUID       growth.PodUID
				ResourceName string
				DeviceIDs    map[string][]string // by NUMA node
			}
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("kubelet's checkpoint: %w", err)
	}
	held := map[growth.PodUID][]string{}
	for _, entry := range file.Data.PodDeviceEntries {
		if entry.ResourceName != gpushare.Resource {
			continue
		}
		for _, ids := range entry.DeviceIDs {
			held[entry.PodUID] = append(held[entry.PodUID], ids...)
		}
	}
	return held, nil
}

// ShareOf adds up the memory of device IDs by GPU.
func ShareOf(ids []string) Share {
	s := Share{}
	for _, id := range ids {
		gpu, _, _ := strings.Cut(id, "/")
		s[growth.GPU(gpu)] += growth.GiB
	}
	return s
}
