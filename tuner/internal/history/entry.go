package history

import (
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

func decode(e bus.Entry) (*entry, error) {
	key, err := bus.ParseKey(e.Key)
	if err != nil {
		return nil, err
	}
	decoded := &entry{key: key, revision: e.Revision}
	switch key.Kind {
	case bus.KindGPUs:
		decoded.gpus, err = read[bus.NodeGPUs](e.Value)
	case bus.KindLoad:
		decoded.load, err = read[bus.NodeLoad](e.Value)
	case bus.KindSample:
		if decoded.sample, err = read[bus.Sample](e.Value); err == nil {
			decoded.sample.State = nil // large, and only a coordinator can read it
		}
	case bus.KindAdvice:
		decoded.advice, err = read[bus.Advice](e.Value)
	case bus.KindSpeeds:
		decoded.speeds, err = read[bus.Speeds](e.Value)
	case bus.KindModel:
		switch key.Name {
		case bus.InterferenceModel:
			decoded.model, err = read[bus.Interference](e.Value)
		case bus.PeaksModel:
			decoded.peaks, err = read[bus.Peaks](e.Value)
		case bus.LoadersModel:
			decoded.loaders, err = read[bus.Loaders](e.Value)
		}
	}
	return decoded, err
}

func read[T any, R bus.Record[T]](value []byte) (*T, error) {
	record, err := bus.Decode[T, R](value)
	if err != nil {
		return nil, err
	}
	return &record, nil
}
