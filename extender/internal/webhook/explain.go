package webhook

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"text/tabwriter"
	"time"

	"github.com/julienschmidt/httprouter"

	"github.com/trellis-gpu/trellis/extender/internal/scheduler"
)

// explain responds with a table, or with JSON for ?output=json.
func (h *handler) explain(w http.ResponseWriter, r *http.Request, params httprouter.Params) {
	namespace, pod := params.ByName("namespace"), params.ByName("pod")
	e, known := h.scheduler.Explain(namespace, pod)
	switch output := r.URL.Query().Get("output"); {
	case !known:
		fail(w, http.StatusNotFound, fmt.Sprintf("no decision about pod %s/%s is in the log: it asks for no share of a GPU, "+
			"another replica decided, or that was long ago", namespace, pod))
	case output == "json":
		reply(w, http.StatusOK, e)
	case output != "":
		fail(w, http.StatusBadRequest, fmt.Sprintf("output %q is unknown: use output=json, or leave it out for text", output))
	default:
		var text bytes.Buffer
		writeExplanation(&text, e)
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write(text.Bytes())
	}
}

// writeExplanation writes an explanation as a table.
func writeExplanation(w io.Writer, e scheduler.Explanation) {
	memory := e.Memory.String()
	if e.Units > 0 {
		memory = fmt.Sprintf("%d units", e.Units)
	}
	fmt.Fprintf(w, "pod %s (UID %s)\nasks for %s of GPU memory", e.Pod, e.Pod.UID, memory)
	if e.GPUs > 1 {
		fmt.Fprintf(w, " on each of %d GPUs", e.GPUs)
	}
	fmt.Fprintf(w, "\npolicy %s, last tried %s, %d nodes considered\n\n", e.Policy, e.At.UTC().Format(time.RFC3339), len(e.Nodes))
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NODE\tPOINTS\tGPU\tWHY")
	for _, n := range e.Nodes {
		switch {
		case n.Scored:
			for i, g := range n.GPUs {
				name, points := n.Node, fmt.Sprint(n.Points)
				if i > 0 {
					name, points = "", ""
				}
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", name, points, g.GPU, g.Why)
				writeSlowdowns(table, g.Jobs)
			}
		case n.Reason == "":
			fmt.Fprintf(table, "%s\t-\t\thas room; the scheduler did not ask for its score\n", n.Node)
		default:
			fmt.Fprintf(table, "%s\t-\t\t%s\n", n.Node, n.Reason)
		}
	}
	_ = table.Flush()
	switch b := e.Bind; {
	case b == nil:
		fmt.Fprintln(w, "\nnot bound by this replica")
	case b.Error != "":
		fmt.Fprintf(w, "\nnot bound to %s at %s: %s\n", b.Node, b.At.UTC().Format(time.RFC3339), b.Error)
	default:
		fmt.Fprintf(w, "\nbound to %s on %v at %s\n", b.Node, b.GPUs, b.At.UTC().Format(time.RFC3339))
	}
}

// writeSlowdowns writes the predicted slowdowns of the jobs on a GPU, one per row.
func writeSlowdowns(table io.Writer, jobs []scheduler.JobExplanation) {
	for _, j := range jobs {
		fmt.Fprintf(table, "\t\t\t  %s: steps take %.2f ± %.2f times as long as alone, %.2f without the pod (%s)\n",
			j.Pod, j.After, j.Deviation, j.Before, j.Source)
	}
}
