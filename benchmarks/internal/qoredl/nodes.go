package qoredl

import (
	"io"
	"math"

	"github.com/trellis-gpu/trellis/benchmarks/internal/strictcsv"
	"github.com/trellis-gpu/trellis/growth"
)

// Utilisation is one sample of the load of a machine, as fractions of its capacity.
type Utilisation struct {
	Machine string
	// At is the time since the first sample of the file.
	At growth.Seconds
	// CPU can exceed 1: the published file has one sample of 1.007.
	CPU, Memory float64
}

// Bounds of a sample.
const (
	maxMachineName = 253
	// maxUtilisation allows for errors of measurement.
	maxUtilisation = 1.05
	// maxAt is some three years.
	maxAt = 1e8
)

// ReadUtilisation reads all samples, in the order of the file. The published file is not sorted by time, and no machine was
// sampled at all times.
func ReadUtilisation(r io.Reader) ([]Utilisation, error) {
	fraction := func(field func(*Utilisation) *float64) func(string, *Utilisation) error {
		return func(v string, u *Utilisation) (err error) {
			*field(u), err = strictcsv.Number(v, 0, maxUtilisation)
			return err
		}
	}
	// ignored is a column that is validated and not used.
	ignored := fraction(func(*Utilisation) *float64 { return new(float64) })
	table := strictcsv.Table[Utilisation]{
		What: "the file of machine loads",
		Columns: []strictcsv.Column[Utilisation]{
			{Name: "", Read: func(v string, _ *Utilisation) error {
				_, err := strictcsv.Whole(v, 0, math.MaxInt32)
				return err
			}},
			{Name: "machine_cpu_uti", Read: fraction(func(u *Utilisation) *float64 { return &u.CPU })},
			{Name: "machine_memory_uti", Read: fraction(func(u *Utilisation) *float64 { return &u.Memory })},
			{Name: "cluster_cpu", Read: ignored},
			{Name: "cluster_memory", Read: ignored},
			{Name: "machine", Read: func(v string, u *Utilisation) error {
				u.Machine = v
				return strictcsv.Text(v, maxMachineName)
			}},
			{Name: "time(s)", Read: func(v string, u *Utilisation) error {
				at, err := strictcsv.Number(v, 0, maxAt)
				u.At = growth.Seconds(at)
				return err
			}},
		},
		MaxBytes: 64 << 20,
		MaxRows:  1_000_000,
	}
	return table.Read(r)
}
