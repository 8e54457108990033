package plugin

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// Allocate implements the API. The same ids always get the same response, but for the percentage of Server.Threads.
func (s *Server) Allocate(ctx context.Context, r *pluginapi.AllocateRequest) (*pluginapi.AllocateResponse, error) {
	start := time.Now()
	s.Allocations.BeginAllocate(ctx)
	defer func() {
		s.Allocations.EndAllocate()
		s.Metrics.Allocate.Observe(time.Since(start).Seconds())
	}()
	reply := &pluginapi.AllocateResponse{}
	for _, c := range r.GetContainerRequests() {
		container, err := s.allocate(ctx, c.GetDevicesIds())
		if err != nil {
			s.Metrics.Rejected.Inc()
			s.Log.Error("an allocation was rejected", "units", len(c.GetDevicesIds()), "err", err)
			return nil, err
		}
		reply.ContainerResponses = append(reply.ContainerResponses, container)
	}
	return reply, nil
}

func (s *Server) allocate(ctx context.Context, ids []string) (*pluginapi.ContainerAllocateResponse, error) {
	parts, err := slice.Spread(ids)
	if err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "kubelet requested ids that were never advertised: %v", err)
	}
	devices, _ := s.Inventory.Devices()
	if err := checkAdvertised(ids, parts, devices, s.Unit); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	if err := s.checkImported(ids, devices); err != nil {
		return nil, status.Error(codes.FailedPrecondition, err.Error())
	}
	if err := s.checkNotInUse(ctx, ids); err != nil {
		return nil, status.Error(codes.FailedPrecondition, err.Error())
	}
	if err := s.checkUnheld(ctx, ids); err != nil {
		return nil, status.Error(codes.FailedPrecondition, err.Error())
	}
	if err := s.checkSpread(ctx, ids, parts, devices); err != nil {
		return nil, status.Error(codes.FailedPrecondition, err.Error())
	}
	if err := s.checkAligned(ctx, ids, parts, devices); err != nil {
		return nil, status.Error(codes.FailedPrecondition, err.Error())
	}
	if s.MPS != "" && len(parts) > 1 {
		return nil, status.Error(codes.FailedPrecondition,
			"this node shares its GPUs by MPS, which has one daemon per GPU: a job on several GPUs cannot be a "+
				"client, run it on a node with --sharing=timeslice")
	}
	dir, err := s.Slots.Ensure(ids)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "preparing %s for the container: %v", gpushare.MountPath, err)
	}
	d := delivery{
		parts:    parts,
		devices:  devices,
		unit:     s.Unit,
		emulated: s.Emulated,
		cdi:      s.CDI,
	}
	reply := &pluginapi.ContainerAllocateResponse{
		Mounts: []*pluginapi.Mount{{ContainerPath: gpushare.MountPath, HostPath: dir, ReadOnly: true}},
	}
	if s.MPS != "" && d.device(parts[0]).Instance == nil {
		d.mps = true
		d.cores = agreedCores(s.Allocations.AwaitDemand(ctx, len(ids)), len(ids))
		if d.cores == 0 && s.Threads != nil {
			d.cores = s.Threads(parts[0].GPU)
		}
		reply.Mounts = append(reply.Mounts, d.clientMounts(s.MPS)...)
	}
	reply.Envs = d.environment()
	reply.CdiDevices = d.cdiDevices()
	s.Allocations.Claim(ids, parts)
	s.Log.Info("allocated", "slot", slice.Slot(ids), "gpus", slice.Shares(parts, s.Unit))
	return reply, nil
}

// checkAdvertised verifies that all ids belong to GPUs in the inventory. It ignores health, which kubelet checks.
func checkAdvertised(ids []string, parts []slice.Part, devices []gpu.Device, unit growth.MiB) error {
	if len(ids) == 0 {
		return fmt.Errorf("kubelet requested no devices")
	}
	units := map[growth.GPU]int{}
	for _, d := range devices {
		units[d.UUID] = slice.Units(d.Memory, unit)
	}
	for _, p := range parts {
		if _, ok := units[p.GPU]; !ok {
			return fmt.Errorf("this node has no GPU %s, or no longer has it", p.GPU)
		}
	}
	for _, id := range ids {
		if gpu, n, err := slice.Parse(id); err != nil || n >= units[gpu] {
			return fmt.Errorf("device id %s lies beyond the memory of GPU %s", id, gpu)
		}
	}
	return nil
}

// checkImported rejects ids that stand for memory of imported pods. An earlier allocation of the same ids stays
// valid.
func (s *Server) checkImported(ids []string, devices []gpu.Device) error {
	imported := s.Allocations.ImportedUnits()
	if len(imported) == 0 || s.Slots.Exists(ids) {
		return nil
	}
	for _, d := range devices {
		units := slice.Units(d.Memory, s.Unit)
		covered := func(id string) bool { return slice.OnGPU(id, d.UUID) && imported.Covers(id, units) }
		if slices.ContainsFunc(ids, covered) {
			return fmt.Errorf(
				"pods that another device plugin started hold %s of GPU %s, too little is left of it: the pod fits "+
					"elsewhere, or once they have ended",
				growth.MiB(imported[d.UUID])*s.Unit, d.UUID)
		}
	}
	return nil
}

// checkNotInUse rejects ids that a container holds. After a rejection kubelet recounts its allocations correctly.
func (s *Server) checkNotInUse(ctx context.Context, ids []string) error {
	if preferred := s.lastPreferred.Swap(nil); preferred != nil && *preferred == slice.Slot(ids) {
		return nil
	}
	if inUse := s.Allocations.InUse(ctx, ids); len(inUse) > 0 {
		s.Metrics.OfferedTwice.Add(float64(len(inUse)))
		return fmt.Errorf(
			"kubelet has given %d of these units to another container, such as %s: submit the pod again, kubelet's "+
				"count is right from now on", len(inUse), inUse[0])
	}
	return nil
}

// checkSpread rejects ids on more GPUs than the container requested. The request is known from pods and reservations.
// While neither is known, for example after a reboot, it accepts ids that are spread evenly. It also accepts ids that
// were allocated before.
func (s *Server) checkSpread(
	ctx context.Context, ids []string, parts []slice.Part, devices []gpu.Device,
) error {
	switch {
	case len(parts) == 1, s.Slots.Exists(ids):
		return nil
	case slice.Even(parts):
		demands := s.Allocations.AwaitDemand(ctx, len(ids))
		if slice.Spans(demands, len(ids), len(parts)) || !s.Allocations.Synced() {
			return nil
		}
	}
	distribution := make([]string, len(parts))
	for i, p := range parts {
		distribution[i] = fmt.Sprintf("%s on %s", growth.MiB(p.Units)*s.Unit, p.GPU)
	}
	return fmt.Errorf(
		"no single GPU of this node has %s left: kubelet could only find %s, and no pod here asks for that on %d "+
			"GPUs (annotation %s); it fits elsewhere, or once a job here has ended%s",
		growth.MiB(len(ids))*s.Unit, strings.Join(distribution, " and "), len(parts), gpushare.CountAnnotation,
		s.alignmentAdvice(devices))
}
