package workload

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// Kinds are the models that benchmarks/jobs can train.
func Kinds() []string { return append(FlowConKinds(), "mlp", "transformer") }

// FlowConKinds are the models of FlowCon's schedules and of the recordings of package sim.
func FlowConKinds() []string { return []string{"vae", "cnn", "rnn", "gru", "birnn", "lstm"} }

// Variants are kinds of jobs as people run them without a thought of Trellis:
//
//	tqdm        a progress bar on stderr, without the shim
//	ddp         two ranks in one container, and each reports its steps
//	guaranteed  limits equal to the requests, so that its CPU cannot be tuned
func Variants() []string { return []string{"tqdm", "ddp", "guaranteed"} }

// The devices of jobs.
const (
	CPU = "cpu"
	// Emulated is an emulated GPU: the job computes on the core that the GPU owns, in turns with the others there.
	Emulated = "emulated"
)

// UsualSteps is the number of steps that a job of a kind makes in about half a minute on one core, in batches of 32
// (jobs/README.md, "Measured alone"); 0 for an unknown kind.
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
	// GPUMemory, Metric and Progress are annotation values.
	GPUMemory string
	Metric    string
	Progress  string
	CPU       growth.MilliCPU
	Seed      uint32
	// Device is CPU or Emulated.
	Device string
	// GPUs is the number of GPUs of a data-parallel job (ddp), each with a rank of its own. With 0 its two ranks share one.
	GPUs int
	// Workers is the number of data loaders; 0 means the examples' default.
	Workers int
	// Further are additional arguments of the program.
	Further []string
}

// UsesShim reports whether the job reports on its socket. Otherwise its progress is read from its log.
func (j Job) UsesShim() bool { return !strings.HasPrefix(j.Progress, "log:") }

// Workload lists jobs in order of arrival.
type Workload []Job

// Kinds lists the models of the workload, in the order of the package's Kinds. Variants do not count.
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

// Quick returns the workload with a third of the steps and of the arrival times.
func (w Workload) Quick() Workload {
	quick := slices.Clone(w)
	for i := range quick {
		quick[i].Arrival = (quick[i].Arrival / 3).Round(time.Second)
		quick[i].Steps = max(quick[i].Steps/3, 1)
	}
	return quick
}

// Stretched returns the workload with the given multiple of the steps.
func (w Workload) Stretched(times float64) Workload {
	stretched := slices.Clone(w)
	for i := range stretched {
		stretched[i].Steps = min(max(int(math.Round(float64(stretched[i].Steps)*times)), 1), maxSteps)
	}
	return stretched
}

// SpedUp returns the workload in a fraction of the time: arrivals are as many times closer, and jobs as many times shorter. The
// load stays the same.
func (w Workload) SpedUp(times float64) Workload {
	faster := w.Stretched(1 / times)
	for i := range faster {
		faster[i].Arrival = growth.Seconds(faster[i].Arrival.Seconds() / times).Duration()
	}
	return faster
}
