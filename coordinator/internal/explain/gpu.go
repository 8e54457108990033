package explain

import (
	"fmt"
	"io"
	"strings"

	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
)

// gpuText writes what the job has of the time of its GPUs, and the jobs with which it takes turns.
func gpuText(w io.Writer, e *node.GPUExplanation) {
	if e == nil {
		return
	}
	names := strings.ReplaceAll(gpushare.FormatGPUs(e.GPUs), ",", ", ")
	fmt.Fprintf(w, "GPU time of %s: share %s (%s with equal parts), computed %.0f s, waited %.0f s for its turn\n",
		names, e.Share, e.Plain, float64(e.Held), float64(e.Waited))
	if e.StepCost > 0 {
		fmt.Fprintf(w, "one step takes %.3g GPU-seconds%s\n", float64(e.StepCost), uncertain(e.Uncertain))
	}
	if e.NotDivided != "" {
		fmt.Fprintf(w, "it is not paused: %s\n", e.NotDivided)
		return
	}
	var turns []string
	for _, t := range e.Turns {
		turns = append(turns, fmt.Sprintf("%s %s (%.0f s so far)", t.Pod, t.Share, float64(t.Held)))
	}
	fmt.Fprintf(w, "turns: %s\n", strings.Join(turns, ", "))
}

func uncertain(is bool) string {
	if is {
		return ", measured while others computed too, so uncertain"
	}
	return ""
}
