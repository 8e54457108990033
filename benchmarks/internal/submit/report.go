package submit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"sigs.k8s.io/yaml"

	"github.com/trellis-gpu/trellis/benchmarks/internal/training"
)

// State says what has become of a job.
type State string

// The states. A job that has not arrived has state Waiting.
const (
	Waiting   State = "waiting"
	Submitted State = "submitted"
	Refused   State = "refused"
)

// Report is the result of a submission.
type Report struct {
	Namespace string `json:"namespace"`
	// Run is the value of the label training.RunLabel.
	Run  string    `json:"run"`
	Jobs []Outcome `json:"jobs"`
}

// Outcome is one job.
type Outcome struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	// Arrival is in seconds from the start of the workload, Work in seconds of a core.
	Arrival   float64 `json:"arrivalSeconds"`
	Steps     int     `json:"steps"`
	Batch     int     `json:"batch"`
	GPUs      int     `json:"gpus"`
	GPUMemory string  `json:"gpuMemory"`
	Work      float64 `json:"workSeconds"`
	State     State   `json:"state"`
	Error     string  `json:"error,omitempty"`
}

func newReport(s Submission) Report {
	r := Report{Namespace: s.Setup.Namespace, Run: s.Setup.Run}
	for _, j := range s.Jobs {
		r.Jobs = append(r.Jobs, Outcome{
			Name:      j.Name,
			Kind:      j.Kind,
			Arrival:   j.Arrival.Seconds(),
			Steps:     j.Steps,
			Batch:     j.Batch,
			GPUs:      max(j.GPUs, 1),
			GPUMemory: j.GPUMemory,
			Work:      float64(j.Work()),
			State:     Waiting,
		})
	}
	return r
}

func (r Report) count(state State) (n int) {
	for _, j := range r.Jobs {
		if j.State == state {
			n++
		}
	}
	return n
}

// Rest says what is on the cluster, and how to remove it.
func (r Report) Rest() string {
	n := r.count(Submitted)
	if n == 0 {
		return "No job was submitted."
	}
	return fmt.Sprintf("%d of %d jobs were submitted and stay: kubectl delete pods -n %s -l %s=%s deletes them.",
		n, len(r.Jobs), r.Namespace, training.RunLabel, r.Run)
}

// Write prints the report as table, json or yaml.
func (r Report) Write(w io.Writer, format string) error {
	if format != "table" {
		return write(w, format, r)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tKIND\tARRIVAL\tSTEPS\tBATCH\tGPUS\tGPU MEM\tWORK\tSTATE")
	for _, j := range r.Jobs {
		fmt.Fprintf(table, "%s\t%s\t%.1fs\t%d\t%d\t%d\t%s\t%.0fs\t%s\n", j.Name, j.Kind, j.Arrival, j.Steps, j.Batch, j.GPUs, j.GPUMemory, j.Work, j.State)
	}
	return table.Flush()
}

// write prints a value as json or yaml.
func write(w io.Writer, format string, value any) error {
	encode := yaml.Marshal
	if format == "json" {
		encode = func(v any) ([]byte, error) { return json.MarshalIndent(v, "", "  ") }
	}
	text, err := encode(value)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", bytes.TrimSpace(text))
	return err
}
