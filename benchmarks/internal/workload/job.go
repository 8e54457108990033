package workload

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// Kinds are the models that benchmarks/jobs can train.
func Kinds() []string { return []string{"vae", "cnn", "rnn", "gru", "birnn", "lstm"} }

// UsualSteps are those in which a job of a kind takes about half a minute on one core alone, in batches of 32 (jobs/README.md,
// "Measured alone"); 0 for a kind there is not.
func UsualSteps(kind string) int {
	return map[string]int{"vae": 1450, "cnn": 1850, "rnn": 2150, "gru": 2000, "birnn": 2050, "lstm": 1850}[kind]
}

// Job is one row of a workload.
type Job struct {
	Name    string
	Kind    string
	Arrival time.Duration
	Steps   int
	Batch   int
	// GPUMemory, Metric and Progress are annotation values, as the user would write them.
	GPUMemory string
	Metric    string
	Progress  string
	CPU       growth.MilliCPU
	Seed      uint32
	// Further are more arguments of its program.
	Further []string
}

// UsesShim tells whether the job reports on its socket; otherwise its log is all there is.
func (j Job) UsesShim() bool { return !strings.HasPrefix(j.Progress, "log:") }

// Workload is what a benchmark runs, in order of arrival.
type Workload []Job

// Kinds lists the kinds that the workload has, in the order of the package's Kinds.
func (w Workload) Kinds() []string {
	return slices.DeleteFunc(Kinds(), func(kind string) bool {
		return !slices.ContainsFunc(w, func(j Job) bool { return j.Kind == kind })
	})
}

// Seeds lists the jobs' seeds, in order of arrival.
func (w Workload) Seeds() []uint32 {
	seeds := make([]uint32, len(w))
	for i, j := range w {
		seeds[i] = j.Seed
	}
	return seeds
}

// Quick is the same workload with a third of the steps, arriving three times as fast.
func (w Workload) Quick() Workload {
	quick := slices.Clone(w)
	for i := range quick {
		quick[i].Arrival = (quick[i].Arrival / 3).Round(time.Second)
		quick[i].Steps = max(quick[i].Steps/3, 1)
	}
	return quick
}

// Stretched is the same workload with so many times the steps.
func (w Workload) Stretched(times float64) Workload {
	stretched := slices.Clone(w)
	for i := range stretched {
		stretched[i].Steps = min(max(int(math.Round(float64(stretched[i].Steps)*times)), 1), maxSteps)
	}
	return stretched
}
