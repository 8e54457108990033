package plugin

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/growth"
)

// Inventory lists the GPUs. The channel is closed when the list changes.
type Inventory interface {
	Devices() ([]gpu.Device, <-chan struct{})
}

// Allocations knows which pods request units and which hold them.
type Allocations interface {
	// AwaitDemand lists the containers that kubelet will allocate for. It waits briefly for one with this number of
	// units. Synced reports whether the list is complete.
	AwaitDemand(ctx context.Context, units int) []slice.Demand
	Synced() bool
	// BeginAllocate and EndAllocate enclose kubelet's work on one allocation.
	BeginAllocate(ctx context.Context)
	EndAllocate()
	// InUse returns the ids that a container holds although kubelet offers them.
	InUse(ctx context.Context, ids []string) []string
	// Holdings returns the containers of live pods with their ids, also those that kubelet has
	// forgotten.
	Holdings() []slice.Holding
	// Claim assigns allocated ids to a demand.
	Claim(ids []string, parts []slice.Part)
	// ImportedUnits returns the units that pods of another device plugin hold; AwaitImports returns once they are
	// known.
	ImportedUnits() slice.Withheld
	AwaitImports(ctx context.Context) error
	// Observe records the pod that holds the ids. It may take a few seconds and never fails.
	Observe(ctx context.Context, ids []string)
}

// Slots are the directories that are mounted into containers.
type Slots interface {
	Ensure(ids []string) (path string, err error)
	Exists(ids []string) bool
}

// Server implements the device plugin API.
type Server struct {
	pluginapi.UnimplementedDevicePluginServer

	Unit     growth.MiB
	Emulated bool
	// CDI delivers GPUs as CDI devices instead of NVIDIA_VISIBLE_DEVICES.
	CDI bool
	// NUMA reports the NUMA node of each unit to kubelet, whose Topology Manager aligns a pod's CPUs with it.
	NUMA bool
	// MPS is the state directory of the MPS daemons; empty without MPS.
	MPS string
	// Threads returns the percentage of a GPU's threads for a new client of MPS that asks for no other; nil for all threads.
	Threads     func(gpu growth.GPU) int
	Inventory   Inventory
	Allocations Allocations
	Slots       Slots
	// Streams tracks kubelet's ListAndWatch streams.
	Streams StreamTracker
	Metrics *Metrics
	Log     *slog.Logger

	// lastPreferred is the slot of the last preferred ids, which were verified not to be in use.
	lastPreferred atomic.Pointer[string]
}

// options are the options that a plugin declares to kubelet.
func options() *pluginapi.DevicePluginOptions {
	return &pluginapi.DevicePluginOptions{PreStartRequired: true, GetPreferredAllocationAvailable: true}
}

// GetDevicePluginOptions implements the API.
func (s *Server) GetDevicePluginOptions(context.Context, *pluginapi.Empty) (*pluginapi.DevicePluginOptions, error) {
	return options(), nil
}

// ListAndWatch implements the API. It returns when kubelet's stream or the server ends.
func (s *Server) ListAndWatch(
	_ *pluginapi.Empty, stream grpc.ServerStreamingServer[pluginapi.ListAndWatchResponse],
) error {
	for sent := false; ; sent = true {
		devices, changed := s.Inventory.Devices()
		list := advertised(devices, s.Unit, s.NUMA)
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

func advertised(devices []gpu.Device, unit growth.MiB, numa bool) *pluginapi.ListAndWatchResponse {
	list := &pluginapi.ListAndWatchResponse{}
	for _, d := range devices {
		health := pluginapi.Healthy
		if !d.Healthy {
			health = pluginapi.Unhealthy
		}
		var topology *pluginapi.TopologyInfo
		if numa {
			topology = topologyOf(d)
		}
		for _, id := range slice.IDs(d.UUID, slice.Units(d.Memory, unit)) {
			list.Devices = append(list.Devices, &pluginapi.Device{
				ID:       id,
				Health:   health,
				Topology: topology,
			})
		}
	}
	return list
}

// GetPreferredAllocation implements the API.
func (s *Server) GetPreferredAllocation(
	ctx context.Context, r *pluginapi.PreferredAllocationRequest,
) (*pluginapi.PreferredAllocationResponse, error) {
	s.Allocations.BeginAllocate(ctx)
	devices, _ := s.Inventory.Devices()
	reply := &pluginapi.PreferredAllocationResponse{}
	for _, c := range r.GetContainerRequests() {
		ids := s.preferredIDs(ctx, slice.Request{
			Available:   s.Allocations.ImportedUnits().Filter(c.GetAvailableDeviceIDs()),
			MustInclude: c.GetMustIncludeDeviceIDs(),
			Size:        int(c.GetAllocationSize()),
			NUMA:        numaNodes(devices),
		})
		reply.ContainerResponses = append(reply.ContainerResponses,
			&pluginapi.ContainerPreferredAllocationResponse{DeviceIDs: ids})
	}
	return reply, nil
}

// preferredIDs chooses ids that no container holds, since kubelet may offer ids twice.
func (s *Server) preferredIDs(ctx context.Context, r slice.Request) []string {
	demands := s.Allocations.AwaitDemand(ctx, r.Size)
	for {
		ids := slice.ChooseUnheld(r, demands, s.Allocations.Holdings())
		inUse := s.Allocations.InUse(ctx, ids)
		if len(inUse) == 0 {
			s.lastPreferred.Store(new(slice.Slot(ids)))
			return ids
		}
		s.Log.Warn("kubelet offers units that a container already holds: other units are preferred", "units", len(inUse),
			"first", inUse[0])
		s.Metrics.OfferedTwice.Add(float64(len(inUse)))
		remove := func(id string) bool { return slices.Contains(inUse, id) }
		r.Available = slices.DeleteFunc(slices.Clone(r.Available), remove)
	}
}

// PreStartContainer implements the API.
func (s *Server) PreStartContainer(
	ctx context.Context, r *pluginapi.PreStartContainerRequest,
) (*pluginapi.PreStartContainerResponse, error) {
	start := time.Now()
	s.Allocations.Observe(ctx, r.GetDevicesIds())
	s.Metrics.PreStart.Observe(time.Since(start).Seconds())
	return &pluginapi.PreStartContainerResponse{}, nil
}
