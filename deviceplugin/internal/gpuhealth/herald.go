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

// tellWithin bounds one event.
const tellWithin = 5 * time.Second

// People reads events: Kubernetes shows them beside the object that they are about.
type People interface {
	Warning(ctx context.Context, about apiserver.About, reason, message string) error
	Notice(ctx context.Context, about apiserver.About, reason, message string) error
}

// Herald tells of each GPU whose health changed: on the node, and on the pods that hold memory of it.
type Herald struct {
	Node      growth.NodeName
	Inventory interface {
		Devices() ([]gpu.Device, <-chan struct{})
	}
	// Holders lists the pods that hold memory on a GPU.
	Holders func(growth.GPU) []growth.PodRef
	People  People
	Log     *slog.Logger
}

// Run tells until ctx ends. What is unhealthy at the start is news.
func (h Herald) Run(ctx context.Context) error {
	told := map[growth.GPU]string{}
	for ctx.Err() == nil {
		devices, changed := h.Inventory.Devices()
		for _, d := range devices {
			if d.Healthy != (told[d.UUID] == "") {
				h.tell(ctx, d)
			}
			told[d.UUID] = ""
			if !d.Healthy {
				told[d.UUID] = d.Reason
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
	return nil
}

func (h Herald) tell(ctx context.Context, d gpu.Device) {
	about := []apiserver.About{apiserver.Node(string(h.Node))}
	for _, pod := range h.Holders(d.UUID) {
		about = append(about, apiserver.About{
			Kind:      "Pod",
			Namespace: pod.Namespace,
			Name:      pod.Name,
			UID:       string(pod.UID),
		})
	}
	for _, object := range about {
		ctx, cancel := context.WithTimeout(ctx, tellWithin)
		var err error
		if d.Healthy {
			err = h.People.Notice(ctx, object, "GPUHealthy", fmt.Sprintf("GPU %s is healthy again and takes new jobs.", d.UUID))
		} else {
			err = h.People.Warning(ctx, object, "GPUUnhealthy", fmt.Sprintf("GPU %s takes no new jobs: %s. What runs on it is left alone.", d.UUID, d.Reason))
		}
		cancel()
		if err != nil {
			h.Log.Warn("nobody was told of a GPU's health", "gpu", d.UUID, "about", object.Kind, "name", object.Name, "reason", err)
		}
	}
}
