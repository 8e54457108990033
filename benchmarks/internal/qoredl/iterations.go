package qoredl

import (
	"io"

	"github.com/trellis-gpu/trellis/benchmarks/internal/strictcsv"
	"github.com/trellis-gpu/trellis/growth"
)

// Configuration identifies a training job by what its user chose. It is comparable, so that it can be the key of a map.
type Configuration struct {
	// Batch is the number of samples per iteration.
	Batch int
	// FLOPs are the floating-point operations of the model. In the published file some configurations count the operations
	// for each sample (7 to 9 times the parameters), others those of a whole iteration or more (220 to 1,880 times batch and
	// parameters). Only configurations with the same unit can be compared.
	FLOPs float64
	// Params is the number of the model's parameters.
	Params float64
}

// Allocation is what a job was granted, relative to its predicted peak use. 1 is the peak.
type Allocation struct {
	CPU    float64
	Memory float64
}

// Iteration is one measurement of a job.
type Iteration struct {
	Configuration Configuration
	Allocation    Allocation
	// Hundred is the time of 100 iterations.
	Hundred growth.Seconds
}

// Each returns the mean time of one iteration.
func (i Iteration) Each() growth.Seconds { return i.Hundred / 100 }

// Bounds of a row. They are far beyond all plausible values.
const (
	maxBatch      = 1 << 20
	maxOperations = 1e18
	maxParams     = 1e15
	// least and most bound relative allocations. The published ones are 0.012 to 5.9.
	least, most = 1e-4, 1e4
	// fastest and slowest bound the seconds of 100 iterations. The published ones are 3.8 to 335 s.
	fastest, slowest = 1e-4, 1e7
)

// ReadIterations reads all measurements, in the order of the file.
func ReadIterations(r io.Reader) ([]Iteration, error) {
	number := func(least, most float64, field func(*Iteration) *float64) func(string, *Iteration) error {
		return func(v string, i *Iteration) (err error) {
			*field(i), err = strictcsv.Number(v, least, most)
			return err
		}
	}
	table := strictcsv.Table[Iteration]{
		What: "the file of iteration times",
		Columns: []strictcsv.Column[Iteration]{
			{Name: "batch", Read: func(v string, i *Iteration) (err error) {
				i.Configuration.Batch, err = strictcsv.Whole(v, 1, maxBatch)
				return err
			}},
			{Name: "flops", Read: number(1, maxOperations, func(i *Iteration) *float64 { return &i.Configuration.FLOPs })},
			{Name: "params", Read: number(1, maxParams, func(i *Iteration) *float64 { return &i.Configuration.Params })},
			{Name: "cpu_normalized", Read: number(least, most, func(i *Iteration) *float64 { return &i.Allocation.CPU })},
			{Name: "mem_normalized", Read: number(least, most, func(i *Iteration) *float64 { return &i.Allocation.Memory })},
			{Name: "time_avg_for_100_iteration", Read: func(v string, i *Iteration) error {
				seconds, err := strictcsv.Number(v, fastest, slowest)
				i.Hundred = growth.Seconds(seconds)
				return err
			}},
		},
		MaxBytes: 64 << 20,
		MaxRows:  1_000_000,
	}
	return table.Read(r)
}
