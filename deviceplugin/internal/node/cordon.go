package node

import (
	"context"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/apiserver"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// Cordon keeps GPUs from new jobs that the node's annotation names. It implements gpu.Judge. While the API server is
// away the last list stays.
type Cordon struct {
	client *apiserver.Client
	node   growth.NodeName
	log    *slog.Logger

	mu    sync.Mutex
	named map[growth.GPU]struct{}
}

// NewCordon returns one that cordons nothing yet.
func NewCordon(client *apiserver.Client, node growth.NodeName, log *slog.Logger) *Cordon {
	return &Cordon{client: client, node: node, log: log}
}

// object is what is read of a Node.
type object struct {
	Metadata struct{ Annotations map[string]string }
}

// Run follows the annotation until ctx ends, and calls changed at each change of it.
func (c *Cordon) Run(ctx context.Context, changed func()) error {
	self := url.Values{"fieldSelector": {"metadata.name=" + string(c.node)}}
	apiserver.Follow(ctx, c.client, "/api/v1/nodes", self, func(change apiserver.Change[object]) {
		o := change.One
		if change.Listed && len(change.All) > 0 {
			o = change.All[0]
		}
		if c.read(o) {
			changed()
		}
	}, func(err error) {
		c.log.Warn("watching this node was interrupted, cordoned GPUs stay so", "reason", err)
	})
	return nil
}

// read takes the annotation of a node; one that is gone cordons nothing.
func (c *Cordon) read(o object) bool {
	named := parsed(o.Metadata.Annotations[gpushare.CordonAnnotation])
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
		if uuid = strings.TrimSpace(uuid); uuid != "" {
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
			judged[i].Healthy, judged[i].Reason = false, "cordoned by the node's annotation "+gpushare.CordonAnnotation
		}
	}
	return judged
}
