package results

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/trellis-gpu/trellis/benchmarks/internal/timeline"
)

// Folder holds the result files of one benchmark.
type Folder struct {
	Path string
	// Log writes to demo.log.
	Log *slog.Logger

	log     *os.File
	file    *os.File
	samples *csv.Writer
}

// Create makes the folder. It fails if the folder already holds results.
func Create(path string) (*Folder, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, fmt.Errorf("results folder: %w", err)
	}
	f := &Folder{Path: path}
	if f.log, err = os.OpenFile(filepath.Join(path, "demo.log"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644); err != nil {
		return nil, fmt.Errorf("results folder: %w: name another one by --out", err)
	}
	if f.file, err = os.Create(filepath.Join(path, "samples.csv")); err != nil {
		return nil, errors.Join(fmt.Errorf("results folder: %w", err), f.log.Close())
	}
	f.Log = slog.New(slog.NewJSONHandler(f.log, nil))
	f.samples = csv.NewWriter(f.file)
	return f, f.samples.Write(sampleHeader())
}

// Close flushes and closes demo.log and samples.csv.
func (f *Folder) Close() error {
	f.samples.Flush()
	return errors.Join(f.samples.Error(), f.file.Close(), f.log.Close())
}

func sampleHeader() []string {
	return []string{
		"policy", "seconds", "job", "kind", "state", "node", "gpu", "step", "steps", "metric", "value", "growth", "category", "share",
		"cpu_request_milli", "cgroup_weight", "cpu_used_milli", "memory_mib", "loaders", "acknowledged", "round", "gpu_share",
	}
}

// Sample appends the jobs of a reading to samples.csv.
func (f *Folder) Sample(policy string, round int, since time.Duration, r timeline.Reading) error {
	for _, j := range r.Jobs {
		if j.State == timeline.Expected {
			continue
		}
		loaders := ""
		if j.Loaders != nil {
			loaders = strconv.Itoa(*j.Loaders)
		}
		gpuShare := ""
		if j.GPUShare != nil {
			gpuShare = decimal(float64(*j.GPUShare))
		}
		value := ""
		if j.Reported {
			value = decimal(j.Value)
		}
		if err := f.samples.Write([]string{
			policy, decimal(since.Seconds()), j.Name, j.Kind, string(j.State), string(j.Node), string(j.GPU),
			strconv.FormatInt(j.Step, 10), strconv.FormatInt(j.Steps, 10), j.Metric, value, decimal(float64(j.Growth)), string(j.Category),
			decimal(float64(j.Share)), strconv.FormatInt(int64(j.Request), 10), strconv.FormatInt(j.Weight, 10),
			strconv.FormatInt(int64(j.CPUUsed), 10), strconv.FormatInt(int64(j.Memory), 10), loaders, strconv.FormatInt(j.Acknowledged, 10), strconv.Itoa(round), gpuShare,
		}); err != nil {
			return fmt.Errorf("samples.csv: %w", err)
		}
	}
	f.samples.Flush()
	return f.samples.Error()
}

// Reports appends the metric reports of a run to reports.csv. Times are seconds since the start of the run.
func (f *Folder) Reports(run *timeline.Timeline, round int) error {
	path := filepath.Join(f.Path, "reports.csv")
	var rows [][]string
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		rows = append(rows, []string{"policy", "job", "seconds", "step", "value", "round"})
	}
	for _, job := range slices.Sorted(maps.Keys(run.Reports)) {
		for _, report := range run.Reports[job] {
			rows = append(rows, []string{
				run.Name, job, decimal(report.At.Sub(run.Began).Seconds()), strconv.Itoa(report.Step), decimal(report.Value), strconv.Itoa(round),
			})
		}
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(csv.NewWriter(file).WriteAll(rows), file.Close())
}

// Jobs writes jobs.csv. Times are seconds since the start of the run.
func (f *Folder) Jobs(rounds ...Round) error {
	rows := [][]string{{
		"policy", "job", "kind", "state", "arrival_seconds", "start_seconds", "end_seconds", "completion_seconds", "node", "gpu", "steps", "restarts", "round", "refusals",
	}}
	for i, round := range rounds {
		for _, run := range []*timeline.Timeline{round.Run, round.Other} {
			if run != nil {
				rows = append(rows, jobRows(run, i+1)...)
			}
		}
	}
	file, err := os.Create(filepath.Join(f.Path, "jobs.csv"))
	if err != nil {
		return err
	}
	return errors.Join(csv.NewWriter(file).WriteAll(rows), file.Close())
}

func jobRows(run *timeline.Timeline, round int) (rows [][]string) {
	for _, j := range run.Last().Jobs {
		rows = append(rows, []string{
			run.Name, j.Name, j.Kind, string(j.State), since(run.Began, j.Submitted), since(run.Began, j.Started), since(run.Began, j.Ended),
			decimal(j.Completion().Seconds()), string(j.Node), string(j.GPU), strconv.FormatInt(j.Step, 10), strconv.Itoa(j.Restarts),
			strconv.Itoa(round), strconv.Itoa(j.Refusals),
		})
	}
	return rows
}

// Plot writes plot.svg.
func (f *Folder) Plot(svg string) error {
	return os.WriteFile(filepath.Join(f.Path, "plot.svg"), []byte(svg), 0o644)
}

// Summary writes summary.json.
func (f *Folder) Summary(s Summary) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("summary.json: %w", err)
	}
	return os.WriteFile(filepath.Join(f.Path, "summary.json"), append(text, '\n'), 0o644)
}

func since(began, at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return decimal(at.Sub(began).Seconds())
}

func decimal(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
