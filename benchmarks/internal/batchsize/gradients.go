package batchsize

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"
)

// Period has the mean time of a step in a period of gradients(), in seconds: without the time inside its calls, and with it.
type Period struct {
	Without, With float64
}

// Gradients measures the cost of gradients() in a kind of job.
func (w Workplace) Gradients(ctx context.Context, kind string, d time.Duration) ([]Period, error) {
	program := w.command(ctx, "gradientcost.py", kind, fmt.Sprintf("--seconds=%g", d.Seconds()))
	out, err := program.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := program.Start(); err != nil {
		return nil, err
	}
	periods, err := readPeriods(out)
	if err := errors.Join(err, program.Wait()); err != nil {
		return nil, fmt.Errorf("gradientcost.py: %w", err)
	}
	return periods, nil
}

// readPeriods reads a CSV file with the columns without and with.
func readPeriods(from io.Reader) ([]Period, error) {
	rows, err := csv.NewReader(from).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(rows) < 2 || len(rows[0]) != 2 || rows[0][0] != "without" || rows[0][1] != "with" {
		return nil, errors.New("the columns without and with, and at least one row are expected")
	}
	var periods []Period
	for i, row := range rows[1:] {
		without, err1 := strconv.ParseFloat(row[0], 64)
		with, err2 := strconv.ParseFloat(row[1], 64)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+2, err)
		}
		if !(without > 0 && with > 0) || math.IsInf(without, 1) || math.IsInf(with, 1) {
			return nil, fmt.Errorf("line %d: %g and %g are no times of a step", i+2, without, with)
		}
		periods = append(periods, Period{without, with})
	}
	return periods, nil
}
