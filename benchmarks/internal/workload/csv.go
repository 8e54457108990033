package workload

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/benchmarks/internal/strictcsv"
	"github.com/trellis-gpu/trellis/benchmarks/workloads"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// Bounds of a workload.
const (
	maxBytes   = 1 << 20
	maxJobs    = 500
	maxArrival = 24 * 60 * 60
	maxSteps   = 100_000_000
	maxBatch   = 1 << 16
	maxCPU     = 256 * growth.Core
)

// table describes the project's own format.
func table() strictcsv.Table[Job] {
	names := map[string]bool{}
	return strictcsv.Table[Job]{
		What:     "the workload",
		MaxBytes: maxBytes,
		MaxRows:  maxJobs,
		Default:  Job{Device: CPU},
		Columns: []strictcsv.Column[Job]{
			{Name: "name", Read: func(v string, j *Job) error { return readName(v, names, j) }},
			{Name: "kind", Read: readKind},
			{Name: "arrival_seconds", Read: readArrival},
			{Name: "steps", Read: func(v string, j *Job) (err error) {
				j.Steps, err = strictcsv.Whole(v, 1, maxSteps)
				return err
			}},
			{Name: "batch_size", Read: func(v string, j *Job) (err error) {
				j.Batch, err = strictcsv.Whole(v, 1, maxBatch)
				return err
			}},
			{Name: "gpu_mem", Read: func(v string, j *Job) error {
				j.GPUMemory = v
				if _, err := gpushare.ParseMemory(v); err != nil {
					return fmt.Errorf("%q %w", v, err)
				}
				return nil
			}},
			{Name: "cpu", Read: readCPU},
			{Name: "metric", Read: func(v string, j *Job) error { j.Metric = v; return annotation(gpushare.MetricAnnotation, v) }},
			{Name: "progress", Read: func(v string, j *Job) error { j.Progress = v; return annotation(gpushare.ProgressAnnotation, v) }},
			{Name: "seed", Read: func(v string, j *Job) error {
				seed, err := strictcsv.Whole(v, 0, math.MaxUint32)
				j.Seed = uint32(seed)
				return err
			}},
			{Name: "device", Read: readDevice, Optional: true},
		},
	}
}

// Parse reads a workload. Errors name the line and the column.
func Parse(r io.Reader) (Workload, error) {
	jobs, err := table().Read(r)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(jobs, func(a, b Job) int { return cmp.Compare(a.Arrival, b.Arrival) })
	return jobs, nil
}

// readArrival reads seconds from the workload's start.
func readArrival(v string, j *Job) error {
	seconds, err := strictcsv.Number(v, 0, maxArrival)
	j.Arrival = time.Duration(seconds * float64(time.Second))
	return err
}

var label = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,48}[a-z0-9])?$`)

// readName reads a name that none of names is.
func readName(v string, names map[string]bool, j *Job) error {
	switch {
	case !label.MatchString(v):
		return fmt.Errorf("%q is not a pod's name: lower-case letters, digits and dashes, at most 50", v)
	case names[v]:
		return fmt.Errorf("%q is already the name of another job", v)
	}
	names[v] = true
	j.Name = v
	return nil
}

func readKind(v string, j *Job) error {
	if known := append(Kinds(), Variants()...); !slices.Contains(known, v) {
		return fmt.Errorf("%q is none of %s", v, strings.Join(known, ", "))
	}
	j.Kind = v
	return nil
}

// readDevice requires the shim of jobs on emulated GPUs: without it, a job cannot take turns.
func readDevice(v string, j *Job) error {
	switch {
	case v != CPU && v != Emulated:
		return fmt.Errorf("%q is neither %s nor %s", v, CPU, Emulated)
	case v == Emulated && (!j.UsesShim() || slices.Contains(Variants(), j.Kind)):
		return fmt.Errorf("%s: the job must be of one of the kinds %s, with progress from the socket", v, strings.Join(Kinds(), ", "))
	}
	j.Device = v
	return nil
}

func readCPU(v string, j *Job) (err error) {
	j.CPU, err = ParseCPU(v)
	return err
}

// ParseCPU parses an amount of CPU, such as "150m" or "2".
func ParseCPU(v string) (growth.MilliCPU, error) {
	digits, unit := v, growth.Core
	if before, ok := strings.CutSuffix(v, "m"); ok {
		digits, unit = before, 1
	}
	amount, err := strconv.ParseUint(digits, 10, 31)
	cpu := growth.MilliCPU(amount) * unit
	if err != nil || cpu < 1 || cpu > maxCPU {
		return 0, fmt.Errorf("%q is not an amount of CPU, such as \"150m\" or \"2\"", v)
	}
	return cpu, nil
}

// annotation validates a value with the package that defines the annotations.
func annotation(name, value string) error {
	if value == "" {
		return errors.New("is empty")
	}
	_, err := gpushare.Parse(map[string]string{gpushare.MemoryAnnotation: "1", name: value})
	return err
}

// Demo is the demo's own workload.
func Demo() (Workload, error) { return Parse(strings.NewReader(workloads.Demo())) }
