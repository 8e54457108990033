package torchloader

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"time"

	"github.com/trellis-gpu/trellis/benchmarks/internal/strictcsv"
)

// Bounds of a workload.
const (
	maxBytes   = 1 << 20
	maxRows    = 500
	maxBatch   = 1 << 20
	maxWorkers = 4096
	maxSeconds = 366 * 24 * 60 * 60
	maxEpochs  = 10_000
	// maxIterations bounds the number of an iteration, and the iterations of a job.
	maxIterations = 100_000_000
)

var (
	architecture = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)
	depth        = regexp.MustCompile(`^[a-z0-9]{0,8}$`)
)

// Read reads a workload in any of its forms, in the order of the file.
func Read(r io.Reader) ([]Application, error) {
	var previous time.Duration
	times := 0 // columns with a time in this row
	ignored := func(string, *Application) error { return nil }
	table := strictcsv.Table[Application]{
		What:       "the workload",
		MaxBytes:   maxBytes,
		MaxRows:    maxRows,
		BareQuotes: true,
		Columns: []strictcsv.Column[Application]{
			{Name: "arch", Read: func(v string, a *Application) error {
				a.Architecture = v
				return matches(architecture, v, "an architecture, such as resnet")
			}},
			{Name: "depth", Read: func(v string, a *Application) error {
				a.Depth = v
				return matches(depth, v, "a depth, such as 18")
			}},
			{Name: "batch", Read: whole(1, maxBatch, func(a *Application) *int { return &a.Batch })},
			{Name: "workers", Read: whole(1, maxWorkers, func(a *Application) *int { return &a.Workers })},
			{Name: "output_folder", Read: ignored},
			{Name: "master", Read: ignored, Optional: true},
			{Name: "port", Read: readPort},
			{Name: "arrival_time", Optional: true, Read: func(v string, a *Application) error {
				times++
				return readArrival(v, a)
			}},
			{Name: "submit_interval", Optional: true, Read: func(v string, a *Application) error {
				times++
				err := readArrival(v, a)
				a.Arrival += previous
				previous = a.Arrival
				return err
			}},
			{Name: "cuda_device", Read: func(v string, a *Application) error {
				if times != 1 {
					return errors.New("the file must have either arrival_time or submit_interval before it")
				}
				times = 0
				return readDevices(v, a)
			}},
			{Name: "start_iter", Read: whole(0, maxIterations, func(a *Application) *int { return &a.Start.Iteration })},
			{Name: "start_epoch", Read: whole(0, maxEpochs, func(a *Application) *int { return &a.Start.Epoch })},
			{Name: "end_iter", Read: whole(0, maxIterations, func(a *Application) *int { return &a.End.Iteration })},
			{Name: "end_epoch", Read: readEnd},
			{Name: "node_size", Read: checkNodes, Optional: true},
		},
	}
	return table.Read(r)
}

func whole(least, most int, field func(*Application) *int) func(string, *Application) error {
	return func(v string, a *Application) (err error) {
		*field(a), err = strictcsv.Whole(v, least, most)
		return err
	}
}

func matches(pattern *regexp.Regexp, v, what string) error {
	if !pattern.MatchString(v) {
		return fmt.Errorf("%q is not %s", v, what)
	}
	return nil
}

func readPort(v string, _ *Application) error {
	_, err := strictcsv.Whole(v, 1, 65535)
	return err
}

func readArrival(v string, a *Application) error {
	seconds, err := strictcsv.Number(v, 0, maxSeconds)
	a.Arrival = time.Duration(seconds * float64(time.Second))
	return err
}

// readDevices also checks that every device has a sample of each batch.
func readDevices(v string, a *Application) (err error) {
	if a.Nodes, err = parseNodes(v); err != nil {
		return err
	}
	if a.Devices() > a.Batch {
		return fmt.Errorf("%q: a batch of %d samples is less than one for each of %d devices", v, a.Batch, a.Devices())
	}
	return nil
}

// readEnd also checks that the job has an iteration, and not too many.
func readEnd(v string, a *Application) (err error) {
	if a.End.Epoch, err = strictcsv.Whole(v, 0, maxEpochs); err != nil {
		return err
	}
	if a.Iterations() < 1 {
		return fmt.Errorf("iteration %d of epoch %d is not after iteration %d of epoch %d, where the job begins",
			a.End.Iteration, a.End.Epoch, a.Start.Iteration, a.Start.Epoch)
	}
	if a.Iterations() > maxIterations {
		return fmt.Errorf("%d iterations of ImageNet in batches of %d are more than %d", a.Iterations(), a.Batch, maxIterations)
	}
	return nil
}

func checkNodes(v string, a *Application) error {
	n, err := strictcsv.Whole(v, 1, maxNodes)
	if err == nil && n != len(a.Nodes) {
		return fmt.Errorf("%d nodes, but cuda_device has the devices of %d", n, len(a.Nodes))
	}
	return err
}
