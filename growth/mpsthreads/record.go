package mpsthreads

import (
	"fmt"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

const (
	// FileName is the file below the state directory that the coordinator and the device plugin share.
	FileName = "gpu-newcomers.json"
	// maxGPUs bounds a record.
	maxGPUs = 256
	// oldest is the age after which a record no longer counts: several intervals of the coordinator.
	oldest growth.Seconds = 60
)

// Record is what a coordinator expects of jobs that arrive on its node.
type Record struct {
	bus.Header
	// Uptime is the time since the node was booted.
	Uptime growth.Seconds `json:"uptimeSeconds"`
	// GPUs are those with jobs.
	GPUs []GPU `json:"gpus"`
}

// GPU has the share that a job would get that arrives now.
type GPU struct {
	UUID  growth.GPU   `json:"uuid"`
	Share growth.Share `json:"share"`
}

// Share returns the share on a GPU.
func (r Record) Share(gpu growth.GPU) growth.Share {
	if i := slices.IndexFunc(r.GPUs, func(g GPU) bool { return g.UUID == gpu }); i >= 0 {
		return r.GPUs[i].Share
	}
	return 1
}

// Encode encodes a record.
func Encode(r Record) ([]byte, error) { return bus.Encode(r) }

// Decode decodes a record and validates it. uptime is the present time since boot: an older record, or one of an earlier boot, is
// an error.
func Decode(content []byte, uptime growth.Seconds) (Record, error) {
	r, err := bus.Decode[Record](content)
	if err != nil {
		return Record{}, err
	}
	if age := uptime - r.Uptime; !(age > -1 && age < oldest) {
		return Record{}, fmt.Errorf("the shares of new jobs are %.0f s old: check that the coordinator runs", float64(age))
	}
	if len(r.GPUs) > maxGPUs {
		return Record{}, fmt.Errorf("the shares of new jobs list %d GPUs, at most %d are possible", len(r.GPUs), maxGPUs)
	}
	for _, g := range r.GPUs {
		if !bus.ValidName(g.UUID) || !(g.Share >= 0 && g.Share <= 1) {
			return Record{}, fmt.Errorf("the share of a new job on GPU %.40q is invalid", g.UUID)
		}
	}
	return r, nil
}
