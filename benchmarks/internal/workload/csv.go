package workload

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

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

// column is one field of a row: its name in the header and its parser.
type column struct {
	name string
	read func(value string, job *Job) error
}

func columns() []column {
	return []column{
		{"name", readName},
		{"kind", readKind},
		{"arrival_seconds", func(v string, j *Job) error {
			seconds, err := strconv.ParseFloat(v, 64)
			if err != nil || math.IsNaN(seconds) || seconds < 0 || seconds > maxArrival {
				return fmt.Errorf("%q is not a number of seconds from 0 to %d", v, maxArrival)
			}
			j.Arrival = time.Duration(seconds * float64(time.Second))
			return nil
		}},
		{"steps", func(v string, j *Job) error { return whole(v, maxSteps, &j.Steps) }},
		{"batch_size", func(v string, j *Job) error { return whole(v, maxBatch, &j.Batch) }},
		{"gpu_mem", func(v string, j *Job) error {
			j.GPUMemory = v
			if _, err := gpushare.ParseMemory(v); err != nil {
				return fmt.Errorf("%q %w", v, err)
			}
			return nil
		}},
		{"cpu", readCPU},
		{"metric", func(v string, j *Job) error { j.Metric = v; return annotation(gpushare.MetricAnnotation, v) }},
		{"progress", func(v string, j *Job) error { j.Progress = v; return annotation(gpushare.ProgressAnnotation, v) }},
		{"seed", func(v string, j *Job) error {
			seed, err := strconv.ParseUint(v, 10, 32)
			if err != nil {
				return fmt.Errorf("%q is not a whole number from 0 to %d", v, uint32(math.MaxUint32))
			}
			j.Seed = uint32(seed)
			return nil
		}},
		{"device", readDevice},
	}
}

// Parse reads a workload. Errors name the line and the column.
func Parse(r io.Reader) (Workload, error) {
	limited := &io.LimitedReader{R: r, N: maxBytes + 1}
	reader := csv.NewReader(limited)
	reader.FieldsPerRecord = -1 // checked below, with a better message
	columns, err := readHeader(reader, columns())
	if err != nil {
		return nil, err
	}
	var jobs Workload
	for {
		record, err := reader.Read()
		switch {
		case errors.Is(err, io.EOF) && len(jobs) == 0:
			return nil, errors.New("the workload has no job")
		case errors.Is(err, io.EOF):
			slices.SortStableFunc(jobs, func(a, b Job) int { return int(a.Arrival - b.Arrival) })
			return jobs, nil
		case limited.N <= 0:
			return nil, fmt.Errorf("the workload is larger than %d bytes", maxBytes)
		case err != nil:
			return nil, err // the error of encoding/csv names line and column
		case len(jobs) == maxJobs:
			return nil, fmt.Errorf("the workload has more than %d jobs", maxJobs)
		}
		job, err := readRow(reader, columns, record)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(jobs, func(j Job) bool { return j.Name == job.Name }) {
			return nil, at(reader, 0, columns[0].name, fmt.Errorf("%q is already the name of another job", job.Name))
		}
		jobs = append(jobs, job)
	}
}

// readHeader returns the columns of the file. The last one is optional.
func readHeader(reader *csv.Reader, columns []column) ([]column, error) {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.name
	}
	header, err := reader.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("the workload is empty: its first line must be %s", strings.Join(names, ","))
	} else if err != nil {
		return nil, err
	}
	if slices.Equal(header, names[:len(names)-1]) {
		return columns[:len(columns)-1], nil
	}
	if !slices.Equal(header, names) {
		return nil, fmt.Errorf("line 1: the columns are %s, they must be %s", strings.Join(header, ","), strings.Join(names, ","))
	}
	return columns, nil
}

func readRow(reader *csv.Reader, columns []column, record []string) (Job, error) {
	if len(record) != len(columns) {
		line, _ := reader.FieldPos(0)
		return Job{}, fmt.Errorf("line %d: %d fields, there are %d columns", line, len(record), len(columns))
	}
	job := Job{Device: CPU}
	for i, c := range columns {
		if err := c.read(record[i], &job); err != nil {
			return Job{}, at(reader, i, c.name, err)
		}
	}
	return job, nil
}

func at(reader *csv.Reader, field int, name string, err error) error {
	line, character := reader.FieldPos(field)
	return fmt.Errorf("line %d, column %s (character %d): %w", line, name, character, err)
}

var label = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,48}[a-z0-9])?$`)

func readName(v string, j *Job) error {
	if !label.MatchString(v) {
		return fmt.Errorf("%q is not a pod's name: lower-case letters, digits and dashes, at most 50", v)
	}
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

func readCPU(v string, j *Job) error {
	digits, unit := v, growth.Core
	if before, ok := strings.CutSuffix(v, "m"); ok {
		digits, unit = before, 1
	}
	amount, err := strconv.ParseUint(digits, 10, 31)
	if cpu := growth.MilliCPU(amount) * unit; err != nil || cpu < 1 || cpu > maxCPU {
		return fmt.Errorf("%q is not an amount of CPU, such as \"150m\" or \"2\"", v)
	}
	j.CPU = growth.MilliCPU(amount) * unit
	return nil
}

func whole(v string, most int, into *int) error {
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > most {
		return fmt.Errorf("%q is not a whole number from 1 to %d", v, most)
	}
	*into = n
	return nil
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
