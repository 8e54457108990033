package explain

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// Format is an output format of an explanation.
type Format string

// The output formats.
const (
	Table Format = "table"
	JSON  Format = "json"
)

// Validate returns an error for an unknown format.
func (f Format) Validate() error {
	if f != Table && f != JSON {
		return fmt.Errorf("output %q: %s or %s", string(f), Table, JSON)
	}
	return nil
}

// Print writes an explanation.
func Print(w io.Writer, e node.Explanation, f Format) error {
	if f == JSON {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(e)
	}
	return table(w, e)
}

// table writes a few lines about the job, and a table of the decisions about each resource.
func table(w io.Writer, e node.Explanation) error {
	fmt.Fprintf(w, "%s  %s  share %s  CPU request %s", e.Pod, e.Category, e.Share, e.Request)
	if e.Weight > 0 {
		fmt.Fprintf(w, ", its cgroup's weight %d", e.Weight)
	}
	fmt.Fprintln(w)
	if e.Fixed != "" {
		fmt.Fprintf(w, "its CPU is not changed: %s\n", e.Fixed)
	}
	if e.Deadline != nil {
		fmt.Fprintln(w, deadlineText(*e.Deadline))
	}
	if e.GPUMemory != nil {
		fmt.Fprintln(w, gpuMemoryText(*e.GPUMemory, e.RecommendedGPUMemory))
	}
	if err := gpuText(w, e.GPU, e.WithoutGPU); err != nil {
		return err
	}
	if e.GPU != nil {
		if err := decisions(w, "GPU time", e.GPU.Decisions); err != nil {
			return err
		}
		return decisions(w, "CPU", e.Decisions)
	}
	return decisions(w, "", e.Decisions)
}

// deadlineText describes the deadline of the job's user.
func deadlineText(d bus.Deadline) string {
	text := fmt.Sprintf("its deadline is %s: %s", d.At.Format(time.RFC3339), d.Status)
	if d.LateBy != nil {
		text += ", " + d.LateBy.String()
	}
	if d.GiveWay != nil {
		text += "\n" + node.GiveWayText(*d.GiveWay, growth.PodRef.String)
	}
	return text
}

// decisions writes the table of the decisions about one resource, below its name.
func decisions(w io.Writer, resource string, log node.DecisionLog) error {
	if len(log) == 0 {
		if resource != "" {
			resource += ": "
		}
		_, err := fmt.Fprintln(w, resource+"no decision has been made about it yet")
		return err
	}
	fmt.Fprintln(w)
	if resource != "" {
		fmt.Fprintln(w, resource)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "TIME\tBECAUSE\tSTEP\tVALUE\tGROWTH\tCATEGORY\tUSED\tLIMIT\tLEFT\tNEED\tDUE\tSHARE\tREASON\tOUTCOME")
	for _, d := range log {
		in := d.Inputs
		fmt.Fprintf(t, "%s\t%s\t%s\t%.4g\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s → %s\t%s: %s\t%s\n",
			d.At.Format(time.TimeOnly), d.Because, steps(in), in.Value, growthText(in), in.Category, in.Used, known(in.Limit > 0, in.Limit.String()),
			work(in.Remaining), need(in), due(in), d.From, d.To, d.Policy, d.Reason, known(d.Outcome != "", d.Outcome))
	}
	return t.Flush()
}

// unknown is printed for an unknown value.
const unknown = "–"

func known(ok bool, text string) string {
	if !ok {
		return unknown
	}
	return text
}

func steps(in node.Inputs) string {
	if in.TotalSteps == 0 {
		return fmt.Sprint(in.Step)
	}
	return fmt.Sprintf("%d/%d", in.Step, in.TotalSteps)
}

func growthText(in node.Inputs) string {
	return known(in.Samples >= 2, fmt.Sprintf("%.3f", float64(in.Growth)))
}

func work(e remaining.Estimate) string {
	unit := "core-s"
	if e.Unit == growth.GPUSecond {
		unit = "GPU-s"
	}
	return known(e.Known, fmt.Sprintf("%.0f %s (%.0f–%.0f)", e.Likely, unit, e.Low, e.High))
}

func need(in node.Inputs) string {
	if in.SimilarJobs != "" {
		text := work(in.ToTarget) + ", as " + in.SimilarJobs
		if in.SimilarFrom != "" {
			text += " (" + in.SimilarFrom + ")"
		}
		return text
	}
	return work(in.ToTarget)
}

func due(in node.Inputs) string {
	text := known(in.FairFinish > 0, fmt.Sprintf("in %.0f s", float64(in.FairFinish)))
	if in.Overdue {
		text = strings.TrimSpace("late " + strings.Trim(text, unknown))
	}
	return text
}
