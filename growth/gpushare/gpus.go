package gpushare

import (
	"slices"
	"strings"

	"github.com/trellis-gpu/trellis/growth"
)

// ParseGPUs parses the value of GPUAnnotation. It drops empty and duplicate entries.
func ParseGPUs(list string) []growth.GPU {
	var gpus []growth.GPU
	for uuid := range strings.SplitSeq(list, ",") {
		if gpu := growth.GPU(strings.TrimSpace(uuid)); gpu != "" && !slices.Contains(gpus, gpu) {
			gpus = append(gpus, gpu)
		}
	}
	return gpus
}

// FormatGPUs formats a value of GPUAnnotation.
func FormatGPUs(gpus []growth.GPU) string {
	uuids := make([]string, len(gpus))
	for i, gpu := range gpus {
		uuids[i] = string(gpu)
	}
	return strings.Join(uuids, ",")
}
