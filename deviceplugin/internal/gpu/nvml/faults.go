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
	// eventMask are the events that are listened for.
	eventMask uint64 = nvml.EventTypeXidCriticalError | nvml.EventTypeDoubleBitEccError
	// eventWaitMillis is how long one wait for an event lasts, in milliseconds: so long may the end of ctx go unnoticed.
	eventWaitMillis = 1000
	// doubleBit is the XID that a double-bit ECC error has.
	doubleBit = 48
	// wholeGPU is the id of an instance in an event that is about the whole GPU.
	wholeGPU = 0xFFFFFFFF
)

// ErrNoEvents says that no GPU of the node reports faults.
var ErrNoEvents = errors.New("no GPU of this node reports faults: only the list of GPUs tells of their health")

// Faults implements gpu.Driver. It hears the GPUs that are there now: call it again when the list has changed.
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

// parseEvent reads an event. One whose GPU does not tell its name is about nobody we could act on: the next list shows it.
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
