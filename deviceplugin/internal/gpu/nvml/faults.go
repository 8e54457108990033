//go:build cgo

package nvml

import (
	"context"
	"errors"
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/growth"
)

const (
	// eventMask are the requested event types.
	eventMask uint64 = nvml.EventTypeXidCriticalError | nvml.EventTypeDoubleBitEccError
	// eventWaitMillis bounds one wait for an event in milliseconds, and the delay after the end of ctx.
	eventWaitMillis = 1000
	// doubleBit is the XID of a double-bit ECC error.
	doubleBit = 48
	// wholeGPU is the instance id in events that affect the whole GPU.
	wholeGPU = 0xFFFFFFFF
)

// ErrNoEvents reports that no GPU of the node supports fault events.
var ErrNoEvents = errors.New("no GPU of this node reports faults: their health is known only from the list of GPUs")

// Faults implements gpu.Driver. It covers the current GPUs; call it again after the list has changed.
func (s *Source) Faults(ctx context.Context, report func(gpu.Fault)) error {
	set, code := s.library.EventSetCreate()
	if code != nvml.SUCCESS {
		return fmt.Errorf("listening for faults: %s: %w", advice(code), code)
	}
	defer func() { _ = set.Free() }()
	gpus, err := s.physicalGPUs(ctx)
	if err != nil {
		return err
	}
	registered := false
	for _, b := range gpus {
		supported, code := b.nvml.GetSupportedEventTypes()
		if code != nvml.SUCCESS {
			continue
		}
		registered = b.nvml.RegisterEvents(supported&eventMask, set) == nvml.SUCCESS || registered
	}
	if !registered {
		return ErrNoEvents
	}
	for ctx.Err() == nil {
		event, code := set.Wait(eventWaitMillis)
		switch code {
		case nvml.ERROR_TIMEOUT:
		case nvml.SUCCESS:
			if fault, ok := parseEvent(event); ok {
				report(fault)
			}
		default:
			return fmt.Errorf("listening for faults: %s: %w", advice(code), code)
		}
	}
	return nil
}

// parseEvent converts an event. An event without a valid UUID is dropped; the next list shows the GPU's state.
func parseEvent(event nvml.EventData) (gpu.Fault, bool) {
	var fault gpu.Fault
	switch event.EventType {
	case nvml.EventTypeXidCriticalError:
		fault.XID = event.EventData
	case nvml.EventTypeDoubleBitEccError:
		fault.XID = doubleBit
	default:
		return fault, false
	}
	if event.Device == nil {
		return fault, false
	}
	uuid, code := event.Device.GetUUID()
	if code != nvml.SUCCESS || !validUUID(uuid) {
		return fault, false
	}
	fault.GPU = growth.GPU(uuid)
	if event.GpuInstanceId != wholeGPU && event.ComputeInstanceId != wholeGPU {
		fault.Instance = &gpu.Instance{
			Parent:  fault.GPU,
			GPU:     int(event.GpuInstanceId),
			Compute: int(event.ComputeInstanceId),
		}
	}
	return fault, true
}
