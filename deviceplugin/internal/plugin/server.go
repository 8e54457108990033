package plugin

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	deviceplugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/growth"
)

// Inventory is what GPUs there are, and a channel that is closed when that changes.
type Inventory interface {
	Devices() ([]gpu.Device, <-chan struct{})
}

// Allocations knows who asks for units and who holds them.
type Allocations interface {
	// AwaitDemand lists what kubelet will be asked for, after waiting a moment for somebody who asks for so many units.
	// Informed tells whether what is not listed does not exist.
	AwaitDemand(ctx context.Context, units int) []slice.Demand
	Synced() bool
	// BeginAllocate and Allocated enclose what kubelet does to allocate for a container.
	BeginAllocate(ctx context.Context)
	EndAllocate()
	// InUse are those of ids that a container holds, although kubelet offers them.
	InUse(ctx context.Context, ids []string) []string
	// Claim notes that ids were handed out.
	Claim(ids []string, parts []slice.Part)
	// ImportedUnits is what pods hold that another device plugin started; Looked returns when that is known.
	ImportedUnits() slice.Withheld
	AwaitImports(ctx context.Context) error
	// Observe writes down who holds ids. It may take a few seconds, and fails silently.
	Observe(ctx context.Context, ids []string)
}

// Slots are the folders that are mounted into containers.
type Slots interface {
	Ensure(ids []string) (path string, err error)
	Exists(ids []string) bool
}

// Server answers kubelet.
type Server struct {
	deviceplugin.UnimplementedDevicePluginServer

	Unit     growth.MiB
	Emulated bool
	// CDI delivers GPUs as CDI devices instead of by NVIDIA_VISIBLE_DEVICES.
	CDI bool
	// MPS is the state folder of the MPS daemons whose clients containers become; empty for none.
	MPS         string
	Inventory   Inventory
	Allocations Allocations
	Slots       Slots
	// Streams is told whether kubelet listens.
	Streams StreamTracker
	Metrics *Metrics
	Log     *slog.Logger

	// lastPreferred is the slot that was preferred last: nobody else holds its ids.
	lastPreferred atomic.Pointer[string]
}

// options are what kubelet must know before it asks.
func options() *deviceplugin.DevicePluginOptions {
	return &deviceplugin.DevicePluginOptions{PreStartRequired: true, GetPreferredAllocationAvailable: true}
}

// GetDevicePluginOptions implements the API.
func (s *Server) GetDevicePluginOptions(context.Context, *deviceplugin.Empty) (*deviceplugin.DevicePluginOptions, error) {
	return options(), nil
}

// ListAndWatch implements the API: it ends with kubelet's stream, or with the server.
func (s *Server) ListAndWatch(_ *deviceplugin.Empty, stream grpc.ServerStreamingServer[deviceplugin.ListAndWatchResponse]) error {
	for sent := false; ; sent = true {
		devices, changed := s.Inventory.Devices()
		list := advertised(devices, s.Unit)
		if err := stream.Send(list); err != nil {
			return err
		}
		if !sent {
			s.Streams.add(1)
			defer s.Streams.add(-1)
		}
		s.Log.Info("advertised", "gpus", len(devices), "units", len(list.Devices), "emulated", s.Emulated)
		select {
		case <-changed:
		case <-stream.Context().Done():
			return nil
		}
	}
}

func advertised(devices []gpu.Device, unit growth.MiB) *deviceplugin.ListAndWatchResponse {
	list := &deviceplugin.ListAndWatchResponse{}
	for _, d := range devices {
		health := deviceplugin.Healthy
		if !d.Healthy {
			health = deviceplugin.Unhealthy
		}
		for _, id := range slice.IDs(d.UUID, slice.Units(d.Memory, unit)) {
			list.Devices = append(list.Devices, &deviceplugin.Device{ID: id, Health: health})
		}
	}
	return list
}

// GetPreferredAllocation implements the API.
func (s *Server) GetPreferredAllocation(ctx context.Context, r *deviceplugin.PreferredAllocationRequest) (*deviceplugin.PreferredAllocationResponse, error) {
	s.Allocations.BeginAllocate(ctx)
	reply := &deviceplugin.PreferredAllocationResponse{}
	for _, c := range r.GetContainerRequests() {
		ids := s.preferredIDs(ctx, slice.Request{
			Available:   s.Allocations.ImportedUnits().Filter(c.GetAvailableDeviceIDs()),
			MustInclude: c.GetMustIncludeDeviceIDs(),
			Size:        int(c.GetAllocationSize()),
		})
		reply.ContainerResponses = append(reply.ContainerResponses, &deviceplugin.ContainerPreferredAllocationResponse{DeviceIDs: ids})
	}
	return reply, nil
}

// preferredIDs chooses among what is free: kubelet may offer what it has given away already.
func (s *Server) preferredIDs(ctx context.Context, r slice.Request) []string {
	demands := s.Allocations.AwaitDemand(ctx, r.Size)
	for {
		ids := slice.Choose(r, demands)
		inUse := s.Allocations.InUse(ctx, ids)
		if len(inUse) == 0 {
			s.lastPreferred.Store(new(slice.Slot(ids)))
			return ids
		}
		s.Log.Warn("kubelet offers units that it has given to a container: others are preferred", "units", len(inUse), "first", inUse[0])
		s.Metrics.OfferedTwice.Add(float64(len(inUse)))
		r.Available = slices.DeleteFunc(slices.Clone(r.Available), func(id string) bool { return slices.Contains(inUse, id) })
	}
}

// PreStartContainer implements the API.
func (s *Server) PreStartContainer(ctx context.Context, r *deviceplugin.PreStartContainerRequest) (*deviceplugin.PreStartContainerResponse, error) {
	start := time.Now()
	s.Allocations.Observe(ctx, r.GetDevicesIds())
	s.Metrics.PreStart.Observe(time.Since(start).Seconds())
	return &deviceplugin.PreStartContainerResponse{}, nil
}
