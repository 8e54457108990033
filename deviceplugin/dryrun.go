package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/config"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/node"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/growth"
)

// advertisement is the output of --dry-run: what the plugin would advertise to kubelet and on the bus, and the node's
// labels.
type advertisement struct {
	Resource string            `json:"resource"`
	Unit     growth.MiB        `json:"unitMiB"`
	Units    int               `json:"units"`
	Emulated bool              `json:"emulated"`
	Driver   string            `json:"driver,omitempty"`
	GPUs     []advertised      `json:"gpus"`
	Labels   map[string]string `json:"labels"`
}

type advertised struct {
	UUID    growth.GPU   `json:"uuid"`
	Model   string       `json:"model"`
	Memory  growth.MiB   `json:"memoryMiB"`
	Units   int          `json:"units"`
	First   string       `json:"firstID"`
	Last    string       `json:"lastID"`
	Healthy bool         `json:"healthy"`
	Reason  string       `json:"reason,omitempty"`
	NUMA    *int         `json:"numaNode,omitempty"`
	Links   []growth.GPU `json:"nvlink,omitempty"`
	Parent  growth.GPU   `json:"migParent,omitempty"`
}

// dryRun prints what the device plugin would advertise.
func dryRun(ctx context.Context, c *config.Config, out io.Writer, log *slog.Logger) error {
	monitor, _, err := openMonitor(c)
	if err != nil {
		return err
	}
	inventory, err := openInventory(ctx, c, log, monitor)
	if err != nil {
		return err
	}
	defer inventory.close()
	return inventory.advertisement().print(out, c.Output)
}

func (s *inventory) advertisement() advertisement {
	devices, _ := s.Devices()
	a := advertisement{
		Resource: s.resource, Unit: s.unit, Emulated: s.emulated, Driver: s.version(), GPUs: []advertised{},
		Labels: node.Labels(devices, s.version(), s.emulated),
	}
	for _, d := range devices {
		one := s.advertised(d)
		if d.Healthy {
			a.Units += one.Units
		}
		a.GPUs = append(a.GPUs, one)
	}
	return a
}

func (s *inventory) advertised(d gpu.Device) advertised {
	units := slice.Units(d.Memory, s.unit)
	a := advertised{
		UUID: d.UUID, Model: d.Model, Memory: d.Memory, Units: units, First: slice.ID(d.UUID, 0), Last: slice.ID(d.UUID, units-1),
		Healthy: d.Healthy, Reason: d.Reason, Links: d.Links,
	}
	if d.NUMA >= 0 {
		a.NUMA = &d.NUMA
	}
	if d.Instance != nil {
		a.Parent = d.Instance.Parent
	}
	return a
}

// print writes what would be advertised, as text or as JSON.
func (a advertisement) print(w io.Writer, format string) error {
	if format == config.OutputJSON {
		out := json.NewEncoder(w)
		out.SetIndent("", "  ")
		return out.Encode(a)
	}
	for _, g := range a.GPUs {
		health := "healthy"
		if !g.Healthy {
			health = "unhealthy: " + g.Reason
		}
		if _, err := fmt.Fprintf(w, "%s  %s  %s  %d units, %s to %s  %s\n", g.UUID, g.Model, g.Memory, g.Units, g.First, g.Last, health); err != nil {
			return err
		}
	}
	kind := ""
	if a.Emulated {
		kind = ", emulated"
	}
	_, err := fmt.Fprintf(w, "%s: %d of %s each on %d GPUs%s\n", a.Resource, a.Units, a.Unit, len(a.GPUs), kind)
	return err
}
