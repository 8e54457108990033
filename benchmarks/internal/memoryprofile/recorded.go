package memoryprofile

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/trellis-gpu/trellis/benchmarks/internal/strictcsv"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/peaks"
)

// interval is the time for which a reading stands.
const interval growth.Seconds = 10

// Recording is the memory of one run of an example job.
type Recording struct {
	Kind  string
	Batch int
	Seed  int
	// Params are the parameters of its model, FLOPs the floating-point operations for one sample.
	Params, FLOPs float64
	// Allocated is what PyTorch's allocator holds at most in a step, in KiB.
	Allocated int
	// Started is the number of readings before the first steps.
	Started int
	Memory  []growth.MiB
}

// The bounds of a recording.
const (
	minReadings, maxReadings = 8, 600
	maxMemory                = 1 << 20 // 1 TiB
	maxBatch                 = 1 << 20
	maxModel                 = 1e15
)

var table = strictcsv.Table[Recording]{
	What:     "the recording of memory",
	MaxBytes: 16 << 20,
	MaxRows:  10_000,
	Columns: []strictcsv.Column[Recording]{
		{Name: "kind", Read: func(v string, r *Recording) error { r.Kind = v; return strictcsv.Text(v, 64) }},
		{Name: "batch", Read: whole(1, maxBatch, func(r *Recording) *int { return &r.Batch })},
		{Name: "seed", Read: whole(0, maxBatch, func(r *Recording) *int { return &r.Seed })},
		{Name: "params", Read: number(func(r *Recording) *float64 { return &r.Params })},
		{Name: "flops", Read: number(func(r *Recording) *float64 { return &r.FLOPs })},
		{Name: "allocated_kib", Read: whole(1, maxMemory<<10, func(r *Recording) *int { return &r.Allocated })},
		{Name: "started", Read: whole(0, maxReadings, func(r *Recording) *int { return &r.Started })},
		{Name: "memory_mib", Read: readings},
	},
}

func whole(least, most int, field func(*Recording) *int) func(string, *Recording) error {
	return func(v string, r *Recording) (err error) {
		*field(r), err = strictcsv.Whole(v, least, most)
		return err
	}
}

func number(field func(*Recording) *float64) func(string, *Recording) error {
	return func(v string, r *Recording) (err error) {
		*field(r), err = strictcsv.Number(v, 0, maxModel)
		return err
	}
}

func readings(v string, r *Recording) error {
	for _, word := range strings.Fields(v) {
		reading, err := strictcsv.Whole(word, 1, maxMemory)
		if err != nil {
			return err
		}
		r.Memory = append(r.Memory, growth.MiB(reading))
	}
	if n := len(r.Memory) - r.Started; n < minReadings || len(r.Memory) > maxReadings {
		return fmt.Errorf("%d readings, %d of them after the first step: %d after it are needed, and %d at most", len(r.Memory), n, minReadings, maxReadings)
	}
	return nil
}

// Read reads what memoryprofile.py has written.
func Read(from io.Reader) ([]Recording, error) { return table.Read(from) }

// peak is the largest reading.
func (r Recording) peak() growth.MiB { return slices.Max(r.Memory) }

// profile is what a coordinator has observed after some readings since the first step. All before that is one block (growth/node).
func (r Recording) profile(seen int) peaks.Profile {
	p := peaks.Profile{}.Add(peaks.Use{Memory: slices.Max(r.Memory[:r.Started+1])}, interval)
	for _, m := range r.Memory[r.Started : r.Started+seen] {
		p = p.Add(peaks.Use{Memory: m}, interval)
	}
	return p
}

// job is what is known of a run before it starts.
func (r Recording) job() peaks.Run {
	return peaks.Run{
		Namespace: "recorded",
		Kind:      r.Kind,
		Model:     peaks.Model{BatchSize: r.Batch, FLOPs: r.FLOPs, Params: r.Params},
	}
}

// ended is what is learned from a run.
func (r Recording) ended() peaks.Run {
	run := r.job()
	run.Peak = peaks.Use{Memory: r.peak()}
	return run
}
