package node

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/apiserver"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

const (
	// fieldManager owns the labels.
	fieldManager = "trellis-deviceplugin"
	applyTimeout = 10 * time.Second
	applyRetry   = 15 * time.Second
	// maxLabel is the longest label value that Kubernetes allows.
	maxLabel = 63
)

// Labels returns the labels by which users select a node.
func Labels(devices []gpu.Device, driver string, emulated bool) map[string]string {
	labels := map[string]string{gpushare.CountLabel: strconv.Itoa(len(devices))}
	set := func(name string, condition bool) {
		if condition {
			labels[name] = "true"
		}
	}
	set(gpushare.EmulatedLabel, emulated)
	if driver != "" {
		labels[gpushare.DriverLabel] = labelValue(driver)
	}
	for i, d := range devices {
		model := labelValue(d.Model)
		smallest := labels[gpushare.MemoryLabel]
		if i > 0 && labels[gpushare.ModelLabel] != model {
			model = "mixed"
		}
		labels[gpushare.ModelLabel] = model
		if least, err := strconv.ParseInt(smallest, 10, 64); err != nil || int64(d.Memory) < least {
			labels[gpushare.MemoryLabel] = strconv.FormatInt(int64(d.Memory), 10)
		}
		set(gpushare.MIGLabel, d.Instance != nil)
		set(gpushare.NVLinkLabel, len(d.Links) > 0)
	}
	return labels
}

// labelValue converts text to a valid label value. Invalid characters become dashes.
func labelValue(text string) string {
	text = strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '.' || r == '_' {
			return r
		}
		return '-'
	}, text)
	text = strings.Trim(text[:min(len(text), maxLabel)], "-._")
	if text == "" {
		return "unknown"
	}
	return text
}

// Labeller keeps the node's labels up to date.
type Labeller struct {
	Client    *apiserver.Client
	Node      growth.NodeName
	Inventory interface {
		Devices() ([]gpu.Device, <-chan struct{})
	}
	Driver   string
	Emulated bool
	Log      *slog.Logger
}

// Run applies the labels at the start and after each change of the GPUs, until ctx ends.
func (l Labeller) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		devices, changed := l.Inventory.Devices()
		retry := time.After(applyRetry)
		if err := l.apply(ctx, Labels(devices, l.Driver, l.Emulated)); err != nil {
			l.Log.Warn("the node's labels could not be applied", "err", err)
		} else {
			retry = nil
		}
		select {
		case <-changed:
		case <-retry:
		case <-ctx.Done():
		}
	}
	return nil
}

func (l Labeller) apply(ctx context.Context, labels map[string]string) error {
	ctx, cancel := context.WithTimeout(ctx, applyTimeout)
	defer cancel()
	return l.Client.Apply(ctx, "/api/v1/nodes/"+string(l.Node), fieldManager, map[string]any{
		"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": string(l.Node), "labels": labels},
	})
}
