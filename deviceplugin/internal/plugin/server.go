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

// Ledger knows who asks for units and who holds them.
type Ledger interface {
	// Expect lists what kubelet will be asked for, after waiting a moment for somebody who asks for so many units.
	// Informed tells whether what is not listed does not exist.
	Expect(ctx context.Context, units int) []slice.Demand
	Informed() bool
	// Allocating and Allocated enclose what kubelet does to allocate for a container.
	Allocating(ctx context.Context)
	Allocated()
	// Taken are those of ids that a container holds, although kubelet offers them.
	Taken(ctx context.Context, ids []string) []string
	// Claim notes that ids were handed out.
	Claim(ids []string, parts []slice.Part)
	// Held is what pods hold that another device plugin started; Looked returns when that is known.
	Held() slice.Held
	Looked(ctx context.Context) error
	// Observe writes down who holds ids. It may take a few seconds, and fails silently.
	Observe(ctx context.Context, ids []string)
}

// Slots are the folders that are mounted into containers.
type Slots interface {
	Ensure(ids []string) (path string, err error)
	Has(ids []string) bool
}

// Server answers kubelet.
type Server struct {
	deviceplugin.UnimplementedDevicePluginServer

	Unit     growth.MiB
	Emulated bool
	// CDI delivers GPUs as CDI devices instead of by NVIDIA_VISIBLE_DEVICES.
	CDI bool
	// MPS is the state folder of the MPS daemons whose clients containers become; empty for none.
	MPS       string
	Inventory Inventory
	Ledger    Ledger
	Slots     Slots
	// Audience is told whether kubelet listens.
	Audience Audience
	Metrics  *Metrics
	Log      *slog.Logger

	// vetted is the slot that was preferred last: nobody else holds its ids.
	vetted atomic.Pointer[string]
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
	for listens := false; ; listens = true {
		devices, changed := s.Inventory.Devices()
		list := advertised(devices, s.Unit)
		if err := stream.Send(list); err != nil {
			return err
		}
		if !listens {
			s.Audience.count(1)
			defer s.Audience.count(-1)
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
	s.Ledger.Allocating(ctx)
	reply := &deviceplugin.PreferredAllocationResponse{}
	for _, c := range r.GetContainerRequests() {
		ids := s.prefer(ctx, slice.Request{
			Available: s.Ledger.Held().Spare(c.GetAvailableDeviceIDs()),
			Must:      c.GetMustIncludeDeviceIDs(),
			Size:      int(c.GetAllocationSize()),
		})
		reply.ContainerResponses = append(reply.ContainerResponses, &deviceplugin.ContainerPreferredAllocationResponse{DeviceIDs: ids})
	}
	return reply, nil
}

// prefer chooses among what is free: kubelet may offer what it has given away already.
func (s *Server) prefer(ctx context.Context, r slice.Request) []string {
	demands := s.Ledger.Expect(ctx, r.Size)
	for {
		ids := slice.Choose(r, demands)
		taken := s.Ledger.Taken(ctx, ids)
		if len(taken) == 0 {
			s.vetted.Store(new(slice.Slot(ids)))
			return ids
		}
		s.Log.Warn("kubelet offers units that it has given to a container: others are preferred", "units", len(taken), "first", taken[0])
		s.Metrics.Offered.Add(float64(len(taken)))
		r.Available = slices.DeleteFunc(slices.Clone(r.Available), func(id string) bool { return slices.Contains(taken, id) })
	}
}

// PreStartContainer implements the API.
func (s *Server) PreStartContainer(ctx context.Context, r *deviceplugin.PreStartContainerRequest) (*deviceplugin.PreStartContainerResponse, error) {
	begin := time.Now()
	s.Ledger.Observe(ctx, r.GetDevicesIds())
	s.Metrics.PreStart.Observe(time.Since(begin).Seconds())
	return &deviceplugin.PreStartContainerResponse{}, nil
}
