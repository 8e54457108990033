package gpuhealth

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/apiserver"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/growth"
)

// eventTimeout bounds the creation of one event.
const eventTimeout = 5 * time.Second

// EventSink creates Kubernetes events.
type EventSink interface {
	Warning(ctx context.Context, about apiserver.ObjectRef, reason, message string) error
	Normal(ctx context.Context, about apiserver.ObjectRef, reason, message string) error
}

// EventRecorder records changes of health as events of the node and of the pods that hold memory of the GPU.
type EventRecorder struct {
	Node      growth.NodeName
	Inventory interface {
		Devices() ([]gpu.Device, <-chan struct{})
	}
	// Holders returns the pods that hold memory of a GPU.
	Holders func(growth.GPU) []growth.PodRef
	Events  EventSink
	Log     *slog.Logger
}

// Run records changes until ctx ends. A GPU that is unhealthy at the start counts as a change.
func (h EventRecorder) Run(ctx context.Context) error {
	reported := map[growth.GPU]string{}
	for ctx.Err() == nil {
		devices, changed := h.Inventory.Devices()
		for _, d := range devices {
			if d.Healthy != (reported[d.UUID] == "") {
				h.record(ctx, d)
			}
			reported[d.UUID] = ""
			if !d.Healthy {
				reported[d.UUID] = d.Reason
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
	return nil
}

func (h EventRecorder) record(ctx context.Context, d gpu.Device) {
	objects := []apiserver.ObjectRef{apiserver.Node(string(h.Node))}
	for _, pod := range h.Holders(d.UUID) {
		objects = append(objects, apiserver.ObjectRef{
			Kind:      "Pod",
			Namespace: pod.Namespace,
			Name:      pod.Name,
			UID:       string(pod.UID),
		})
	}
	for _, object := range objects {
		ctx, cancel := context.WithTimeout(ctx, eventTimeout)
		var err error
		if d.Healthy {
			err = h.Events.Normal(ctx, object, "GPUHealthy",
				fmt.Sprintf("GPU %s is healthy again and takes new jobs.", d.UUID))
		} else {
			err = h.Events.Warning(ctx, object, "GPUUnhealthy",
				fmt.Sprintf("GPU %s takes no new jobs: %s. Running jobs are not affected.", d.UUID, d.Reason))
		}
		cancel()
		if err != nil {
			h.Log.Warn("an event about a GPU's health could not be recorded", "gpu", d.UUID, "about", object.Kind,
				"name", object.Name, "err", err)
		}
	}
}
