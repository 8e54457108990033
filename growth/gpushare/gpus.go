package gpushare

import (
	"slices"
	"strings"

	"github.com/trellis-gpu/trellis/growth"
)

// ParseGPUs reads GPUAnnotation. Whatever stands there, no GPU is listed twice and none without a name.
func ParseGPUs(list string) []growth.GPU {
	var gpus []growth.GPU
	for uuid := range strings.SplitSeq(list, ",") {
		if gpu := growth.GPU(strings.TrimSpace(uuid)); gpu != "" && !slices.Contains(gpus, gpu) {
			gpus = append(gpus, gpu)
		}
	}
	return gpus
}

// FormatGPUs writes what ParseGPUs reads.
func FormatGPUs(gpus []growth.GPU) string {
	uuids := make([]string, len(gpus))
	for i, gpu := range gpus {
		uuids[i] = string(gpu)
	}
	return strings.Join(uuids, ",")
}
