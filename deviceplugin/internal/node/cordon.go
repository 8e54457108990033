package node

import (
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// Cordon withholds the GPUs named in the node's annotation from new jobs. It implements gpu.HealthCheck. While the
// API server is unavailable, the last value stays.
type Cordon struct {
	log *slog.Logger

	mu       sync.Mutex
	cordoned map[growth.GPU]struct{}
}

// NewCordon returns a Cordon without GPUs.
func NewCordon(log *slog.Logger) *Cordon { return &Cordon{log: log} }

// Update reads the node's annotations and reports whether the cordoned GPUs changed.
func (c *Cordon) Update(annotations map[string]string) bool {
	cordoned := parseUUIDs(annotations[gpushare.CordonAnnotation])
	c.mu.Lock()
	defer c.mu.Unlock()
	if maps.Equal(cordoned, c.cordoned) {
		return false
	}
	c.cordoned = cordoned
	c.log.Info("the node's cordoned GPUs changed", "gpus", slices.Sorted(maps.Keys(cordoned)))
	return true
}

// parseUUIDs parses a list of UUIDs. UUIDs of unknown GPUs have no effect.
func parseUUIDs(value string) map[growth.GPU]struct{} {
	uuids := map[growth.GPU]struct{}{}
	for uuid := range strings.SplitSeq(value, ",") {
		uuid = strings.TrimSpace(uuid)
		if uuid != "" {
			uuids[growth.GPU(uuid)] = struct{}{}
		}
	}
	return uuids
}

// Observe implements gpu.HealthCheck.
func (*Cordon) Observe(time.Time, []gpu.Device, error) bool { return false }

// Apply implements gpu.HealthCheck. Cordoning a GPU includes its MIG instances.
func (c *Cordon) Apply(_ time.Time, devices []gpu.Device) []gpu.Device {
	c.mu.Lock()
	defer c.mu.Unlock()
	result := slices.Clone(devices)
	for i, d := range result {
		_, itself := c.cordoned[d.UUID]
		_, board := c.cordoned[d.PhysicalGPU()]
		if (itself || board) && d.Healthy {
			result[i].Healthy = false
			result[i].Reason = "cordoned by the node's annotation " + gpushare.CordonAnnotation
		}
	}
	return result
}
