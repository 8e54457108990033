package wire

import (
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

const (
	// Version is the version of the protocol. Every line has it.
	Version = 1
	// MaxLine is the maximum length of a line with its newline, in bytes.
	MaxLine = 64 << 10
	// MaxMetrics is the maximum number of metrics in one report.
	MaxMetrics = 32
	// StopBound bounds the silence of a coordinator whose Stop is in force. It outlasts a restart of the coordinator.
	StopBound = 2 * time.Minute
)

// Message is one decoded line: Progress, Describe, Ack, Saved, Failed or Stopped from a job; Config, Duty, Save or Stop from
// the coordinator.
type Message interface{ kind() string }

// Progress is a report of one process of a job. Counts and times cover the steps since its previous report.
type Progress struct {
	Step       int64   `json:"step"`
	Epoch      int64   `json:"epoch,omitempty"`
	TotalSteps int64   `json:"total_steps,omitempty"`
	Metrics    Metrics `json:"metrics,omitempty"`
	Steps      int64   `json:"steps,omitempty"`
	Samples    int64   `json:"samples,omitempty"`
	// StepSeconds is the mean time of a step, LoadSeconds the part of it spent waiting for data.
	StepSeconds growth.Seconds `json:"step_seconds,omitempty"`
	LoadSeconds growth.Seconds `json:"load_seconds,omitempty"`
	// BatchSize and Loaders are the current values of the process; absent if it has never fetched them.
	BatchSize *int `json:"batch_size,omitempty"`
	Loaders   *int `json:"loaders,omitempty"`
	// Batch is absent for a job that declares nothing about its batch size.
	Batch *Batch `json:"batch,omitempty"`
	// Gradients is absent if no gradients were compared since the previous report.
	Gradients *Gradients `json:"gradients,omitempty"`
	// GPUMemory is the most memory that the process has reserved on a GPU; 0 if unknown.
	GPUMemory growth.MiB `json:"gpu_memory_mib,omitempty"`
	Process
}

// Batch is what a job declares about the batch size of each process.
type Batch struct {
	// Default is the job's own size. The job accepts sizes from Min to Max.
	Default int `json:"default"`
	Min     int `json:"min"`
	Max     int `json:"max"`
	// LearningRate is the rule by which the job changes its learning rate with the size: linear, square-root or none.
	LearningRate string `json:"learning_rate,omitempty"`
}

// Gradients compares gradients over batches of Small and of Large samples. The squares of their norms are means over Count
// comparisons. Only their ratio counts. The shim takes it for each comparison, so that SmallSquared is 1.
type Gradients struct {
	Count        int64   `json:"count"`
	Small        int64   `json:"small"`
	SmallSquared float64 `json:"small_squared"`
	Large        int64   `json:"large"`
	LargeSquared float64 `json:"large_squared"`
}

// Describe is what a job says about its model, before its first step if it can. Values that are absent or 0 are unknown.
type Describe struct {
	// BatchSize is the number of samples per step of the process.
	BatchSize *int `json:"batch_size,omitempty"`
	// FLOPs are the floating-point operations for one sample, Params the parameters of the model.
	FLOPs  float64 `json:"flops,omitempty"`
	Params float64 `json:"params,omitempty"`
	Process
}

// Ack reports that a process has applied the config of one generation.
type Ack struct {
	Generation int64  `json:"generation"`
	Applied    Values `json:"applied"`
	Process
}

// Saved reports that a process has saved a checkpoint, which is complete and on the disk.
type Saved struct {
	// Path is that of a file, or a URL (gpushare.IsURL). SHA256 is that of the file, or what the job says about the object.
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Step   int64  `json:"step"`
	// Request is that of the Save that the process answers. It is 0 for a checkpoint that nobody has requested, and from
	// shims of the previous release.
	Request int64 `json:"request,omitempty"`
	Process
}

// Failed answers a Save without a new checkpoint. The previous one is as it was.
type Failed struct {
	Request int64  `json:"request"`
	Reason  string `json:"reason"`
	// Nothing is set if this process has nothing to save, as the ranks of a job of which only the first saves.
	Nothing bool `json:"nothing,omitempty"`
	Process
}

// Stopped answers a Stop: at once with the step that the process has reached, and again when it stops or continues.
type Stopped struct {
	Sequence int64 `json:"sequence"`
	// Step is the number of the last complete step.
	Step int64 `json:"step"`
	// Stopped is set while the process waits between two steps.
	Stopped bool `json:"stopped"`
	Process
}

// Values are the settings of each process of a job that a coordinator can change. A nil value is left unchanged.
type Values struct {
	Loaders   *int `json:"loaders,omitempty"`
	BatchSize *int `json:"batch_size,omitempty"`
}

// Config changes the settings of a job, from its next safe point on. A job ignores generations that are not newer than
// the last one of its connection.
type Config struct {
	Generation int64 `json:"generation"`
	Values
}

// Duty sets the fraction of time in which a job may compute, 0 < Duty ≤ 1. A job ignores sequences that are not newer
// than the last one of its connection. A job without a duty computes all the time.
//
// Coordinators of the previous release send the duty in a field of their configs, and shims of the previous release
// read it there and ignore this message.
type Duty struct {
	Sequence int64        `json:"sequence"`
	Duty     growth.Share `json:"duty"`
}

// Save requests a checkpoint within DeadlineSeconds.
type Save struct {
	Reason          string         `json:"reason"`
	DeadlineSeconds growth.Seconds `json:"deadline_seconds"`
	// Request numbers the requests to a job. The answer has it. Coordinators of the previous release send none, and shims of
	// the previous release ignore it.
	Request int64 `json:"request,omitempty"`
}

// Stop lets a process wait between two steps, without its GPU, until another Stop lets it continue. A process ignores
// sequences that are not newer than the last one of its connection, and continues without a word from the coordinator for
// StopBound. Shims of the previous release ignore this message.
type Stop struct {
	Sequence int64 `json:"sequence"`
	// Stop is false to continue.
	Stop bool `json:"stop"`
	// AfterStep is the step after which all processes of a job stop, 0 for the present one. A process that has reached it
	// already does not stop, as its answer says; the coordinator then lets all of them continue, and names a later step.
	AfterStep int64 `json:"after_step,omitempty"`
}

func (Progress) kind() string { return "progress" }
func (Describe) kind() string { return "describe" }
func (Ack) kind() string      { return "ack" }
func (Saved) kind() string    { return "saved" }
func (Config) kind() string   { return "config" }
func (Duty) kind() string     { return "duty" }
func (Save) kind() string     { return "save" }
func (Failed) kind() string   { return "failed" }
func (Stop) kind() string     { return "stop" }
func (Stopped) kind() string  { return "stopped" }
