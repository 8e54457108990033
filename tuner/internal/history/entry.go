package history

import (
	"github.com/trellis-gpu/trellis/daemon/records"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// entry is a decoded record with its key. Records that the tuner does not use have only the key.
type entry struct {
	key      bus.Key
	revision bus.Revision
	gpus     *bus.NodeGPUs
	load     *bus.NodeLoad
	sample   *bus.Sample
	advice   *bus.Advice
	speeds   *bus.Speeds
	model    *bus.Interference
	peaks    *bus.Peaks
	loaders  *bus.Loaders
}

// sample is a bus.Sample without the state of its job, which is the larger part of it and which only a coordinator can read.
type sample struct {
	bus.Sample
	State skipped `json:"state"`
}

type skipped struct{}

func (skipped) UnmarshalJSON([]byte) error { return nil }

// decode decodes a record. Those that coordinators write are only read, the others are written back.
func decode(e bus.Entry) (*entry, error) {
	key, err := bus.ParseKey(e.Key)
	if err != nil {
		return nil, err
	}
	decoded := &entry{key: key, revision: e.Revision}
	switch key.Kind {
	case bus.KindGPUs:
		decoded.gpus, err = pointer(records.Read[bus.NodeGPUs](e.Value))
	case bus.KindLoad:
		decoded.load, err = pointer(records.Read[bus.NodeLoad](e.Value))
	case bus.KindSample:
		var read sample
		read, err = records.Read[sample](e.Value)
		decoded.sample, err = pointer(read.Sample, err)
	case bus.KindAdvice:
		decoded.advice, err = pointer(bus.Decode[bus.Advice](e.Value))
	case bus.KindSpeeds:
		decoded.speeds, err = pointer(records.Read[bus.Speeds](e.Value))
	case bus.KindModel:
		switch key.Name {
		case bus.InterferenceModel:
			decoded.model, err = pointer(bus.Decode[bus.Interference](e.Value))
		case bus.PeaksModel:
			decoded.peaks, err = pointer(bus.Decode[bus.Peaks](e.Value))
		case bus.LoadersModel:
			decoded.loaders, err = pointer(bus.Decode[bus.Loaders](e.Value))
		}
	}
	return decoded, err
}

// pointer returns a pointer to a decoded record.
func pointer[T any](record T, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return &record, nil
}
