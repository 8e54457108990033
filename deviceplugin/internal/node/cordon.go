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

// Cordon keeps GPUs from new jobs that the node's annotation names. It implements gpu.Judge. While the API server is
// away the last list stays.
type Cordon struct {
	log *slog.Logger

	mu    sync.Mutex
	named map[growth.GPU]struct{}
}

// NewCordon returns one that cordons nothing yet.
func NewCordon(log *slog.Logger) *Cordon { return &Cordon{log: log} }

// Read takes the node's annotations, and tells whether other GPUs are cordoned now.
func (c *Cordon) Read(annotations map[string]string) bool {
	named := parsed(annotations[gpushare.CordonAnnotation])
	c.mu.Lock()
	defer c.mu.Unlock()
	if maps.Equal(named, c.named) {
		return false
	}
	c.named = named
	c.log.Info("the node's cordoned GPUs changed", "gpus", slices.Sorted(maps.Keys(named)))
	return true
}

// parsed reads a list of UUIDs. What names no GPU of the node cordons nothing.
func parsed(value string) map[growth.GPU]struct{} {
	named := map[growth.GPU]struct{}{}
	for uuid := range strings.SplitSeq(value, ",") {
		uuid = strings.TrimSpace(uuid)
		if uuid != "" {
			named[growth.GPU(uuid)] = struct{}{}
		}
	}
	return named
}

// Listed implements gpu.Judge.
func (*Cordon) Listed(time.Time, []gpu.Device, error) bool { return false }

// Judged implements gpu.Judge. A GPU that is cut is cordoned with all its instances.
func (c *Cordon) Judged(_ time.Time, devices []gpu.Device) []gpu.Device {
	c.mu.Lock()
	defer c.mu.Unlock()
	judged := slices.Clone(devices)
	for i, d := range judged {
		_, itself := c.named[d.UUID]
		_, board := c.named[d.Board()]
		if (itself || board) && d.Healthy {
			judged[i].Healthy = false
			judged[i].Reason = "cordoned by the node's annotation " + gpushare.CordonAnnotation
		}
	}
	return judged
}
