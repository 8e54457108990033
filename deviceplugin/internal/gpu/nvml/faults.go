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
	// heard are the events that are listened for.
	heard uint64 = nvml.EventTypeXidCriticalError | nvml.EventTypeDoubleBitEccError
	// listenFor is how long one wait for an event lasts, in milliseconds: so long may the end of ctx go unnoticed.
	listenFor = 1000
	// doubleBit is the XID that a double-bit ECC error has.
	doubleBit = 48
	// everywhere is the id of an instance in an event that is about the whole GPU.
	everywhere = 0xFFFFFFFF
)

// ErrDeaf says that no GPU of the node reports faults.
var ErrDeaf = errors.New("no GPU of this node reports faults: only the list of GPUs tells of their health")

// Faults implements gpu.Driver. It hears the GPUs that are there now: call it again when the list has changed.
func (s *Source) Faults(ctx context.Context, tell func(gpu.Fault)) error {
	set, code := s.library.EventSetCreate()
	if code != nvml.SUCCESS {
		return fmt.Errorf("listening for faults: %s: %w", advice(code), code)
	}
	defer func() { _ = set.Free() }()
	boards, err := s.boards(ctx)
	if err != nil {
		return err
	}
	hears := false
	for _, b := range boards {
		offered, code := b.nvml.GetSupportedEventTypes()
		if code != nvml.SUCCESS {
			continue
		}
		hears = b.nvml.RegisterEvents(offered&heard, set) == nvml.SUCCESS || hears
	}
	if !hears {
		return ErrDeaf
	}
	for ctx.Err() == nil {
		event, code := set.Wait(listenFor)
		switch code {
		case nvml.ERROR_TIMEOUT:
		case nvml.SUCCESS:
			if fault, ok := meaning(event); ok {
				tell(fault)
			}
		default:
			return fmt.Errorf("listening for faults: %s: %w", advice(code), code)
		}
	}
	return nil
}

// meaning reads an event. One whose GPU does not tell its name is about nobody we could act on: the next list shows it.
func meaning(event nvml.EventData) (gpu.Fault, bool) {
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
	if code != nvml.SUCCESS || !named(uuid) {
		return fault, false
	}
	fault.Board = growth.GPU(uuid)
	if event.GpuInstanceId != everywhere && event.ComputeInstanceId != everywhere {
		fault.Instance = &gpu.Instance{
			Parent:  fault.Board,
			GPU:     int(event.GpuInstanceId),
			Compute: int(event.ComputeInstanceId),
		}
	}
	return fault, true
}
