package storm

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// ParseCheckpoint reads kubelet's checkpoint of devices: the ids of our resource, by pod. What an id means is read here
// anew, and not by the code under test: "<GPU uuid>/<n>" is one GiB of that GPU.
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

// ShareOf sums ids up by GPU.
func ShareOf(ids []string) Share {
	s := Share{}
	for _, id := range ids {
		gpu, _, _ := strings.Cut(id, "/")
		s[growth.GPU(gpu)] += growth.GiB
	}
	return s
}
