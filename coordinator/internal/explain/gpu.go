package explain

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/peaks"
	"github.com/trellis-gpu/trellis/growth/turn"
)

// gpuText writes what the job has of the time of its GPUs, and the order of the turns there; or why it has none.
func gpuText(w io.Writer, e *node.GPUExplanation, without string) error {
	if e == nil {
		if without != "" {
			fmt.Fprintf(w, "it has no part of the time of a GPU: %s\n", without)
		}
		return nil
	}
	fmt.Fprintf(w, "GPU time of %s: share %s (%s with equal parts), computed %.0f s, waited %.0f s for its turn\n",
		gpuNames(e.GPUs), e.Share, e.Plain, float64(e.Held), float64(e.Waited))
	fmt.Fprintf(w, "in the last interval it computed %s of the time and waited for its turn %s\n", e.HeldShare, e.WaitedShare)
	if e.StepCost > 0 {
		fmt.Fprintf(w, "one step takes %.3g %s%s\n", float64(e.StepCost), growth.GPUSecond, uncertain(e.Uncertain))
	}
	for _, next := range e.NextTo {
		fmt.Fprintf(w, "next to %s it makes %.0f %% ± %.0f %% of its steps per second alone (%s)\n",
			next.Pod, 100*next.Speed.Mean, 100*next.Speed.Deviation, next.Source)
	}
	if e.NotDivided != "" {
		_, err := fmt.Fprintf(w, "it is not paused: %s\n", e.NotDivided)
		return err
	}
	return turnTable(w, e)
}

// gpuMemoryText compares the GPU memory that the job has used with what it requested, and with what it should request.
func gpuMemoryText(m bus.GPUMemory, recommended *peaks.Request) string {
	text := fmt.Sprintf("GPU memory: %s used on a GPU at most", m.Peak)
	if !m.Measured {
		text += " (by its framework, with an allowance for the driver)"
	}
	if m.Requested > 0 {
		text += fmt.Sprintf(", %s requested", m.Requested)
	}
	if recommended != nil {
		text += fmt.Sprintf(", %s recommended (peak, 80 %%: %s to %s)", growth.MiB(recommended.Request), growth.MiB(recommended.Low),
			growth.MiB(recommended.High))
	}
	return text
}

// turnTable writes the jobs in the order of their turns.
func turnTable(w io.Writer, e *node.GPUExplanation) error {
	gpus := func([]growth.GPU) string { return "" }
	heading := ""
	if len(e.GPUs) > 1 { // the others may be on some of them only
		gpus = func(names []growth.GPU) string { return "\t" + gpuNames(names) }
		heading = "\tGPUS"
	}
	fmt.Fprintln(w, "\nOrder of the turns")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "TURN\tJOB%s\tSHARE\tCOMPUTED\tLATELY\tWAITED\tQUANTUM\tAGAINST ITS SHARE\n", heading)
	for _, of := range e.Turns {
		fmt.Fprintf(t, "%s\t%s%s\t%s\t%.0f s\t%s\t%.0f s\t%s\t%s\n", position(of), of.Pod, gpus(of.GPUs), of.Share,
			float64(of.Held), of.HeldShare, float64(of.Waited), known(of.Quantum > 0, seconds(of.Quantum)), balance(of))
	}
	return t.Flush()
}

// position says whether a job has the turn, or when it has.
func position(t node.TurnOf) string {
	switch t.State {
	case turn.Holding.String():
		return "now, " + seconds(t.Left) + " left"
	case turn.Stopping.String():
		return "ends after its step"
	case turn.Overdue.String():
		return "has not stopped in time"
	case turn.Idle.String():
		return "needs no GPU now"
	case turn.Absent.String():
		return "not connected"
	case turn.Ready.String():
		if t.Position > 1 {
			return fmt.Sprintf("number %d", t.Position)
		}
		return "next"
	}
	return unknown
}

// balance says how much more or less than its share a job has had.
func balance(t node.TurnOf) string {
	switch behind := math.Round(float64(t.Behind) * 100); {
	case behind > 0:
		return seconds(t.Behind) + " less"
	case behind < 0:
		return seconds(-t.Behind) + " more"
	case t.Quantum == 0:
		return unknown
	}
	return "even"
}

func seconds(s growth.Seconds) string { return fmt.Sprintf("%.2f s", float64(s)) }

func gpuNames(gpus []growth.GPU) string {
	return strings.ReplaceAll(gpushare.FormatGPUs(gpus), ",", ", ")
}

func uncertain(is bool) string {
	if is {
		return ", measured while others computed too, so uncertain"
	}
	return ""
}
