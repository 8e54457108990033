package table

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/trellis-gpu/trellis/benchmarks/internal/timeline"
	"github.com/trellis-gpu/trellis/growth"
)

// sparkStride is the number of readings between two values of a spark line.
const sparkStride = 4

// nodeBar is the width of a node's bars.
const nodeBar = 10

// Render draws the present state of a run: a title, the nodes with their GPUs, the jobs, and the latest events.
func Render(line *timeline.Timeline, events []Event, s Style) string {
	last := line.Last()
	lines := []string{title(line, last, s), ""}
	for _, node := range last.Nodes {
		lines = append(lines, nodeLines(node, last.Jobs, s)...)
	}
	if last.Unavailable != "" {
		lines = append(lines, s.paint(Yellow, fit("The tuner is unavailable; progress is that of the last reading: "+last.Unavailable, s.Width, false)))
	}
	lines = append(lines, "")
	lines = append(lines, jobLines(line, last, s)...)
	lines = append(lines, "")
	room := 8
	if s.Height > 0 {
		room = min(max(s.Height-len(lines)-1, 0), 12)
	}
	for _, e := range events[max(len(events)-room, 0):] {
		lines = append(lines, e.line(line.Began, s))
	}
	if s.Height > 0 && len(lines) > s.Height-1 {
		lines = lines[:max(s.Height-1, 1)]
	}
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

func title(line *timeline.Timeline, last timeline.Reading, s Style) string {
	count := map[timeline.State]int{}
	for _, j := range last.Jobs {
		count[j.State]++
	}
	text := fmt.Sprintf("%s  %d running, %d waiting, %d to come, %d of %d finished", clock(last.At.Sub(line.Began)),
		count[timeline.Running], count[timeline.Pending]+count[timeline.Starting], count[timeline.Expected],
		count[timeline.Finished], len(last.Jobs))
	if broken := count[timeline.Failed] + count[timeline.Gone]; broken > 0 {
		text += fmt.Sprintf(", %d FAILED", broken)
	}
	name := "Trellis, policy " + line.Name
	return s.paint(Bold, name) + "  " + fit(text, max(s.Width-len(name)-2, 10), false)
}

// nodeLines draws a node's CPU and GPUs, on as many lines as the width requires.
func nodeLines(node timeline.Node, jobs []timeline.Job, s Style) []string {
	cpu := "no coordinator"
	switch {
	case node.CPUPool == 0 && node.Policy != "":
		cpu = "no job"
	case node.CPUPool > 0:
		// Requests are guarantees, not limits: use may exceed them.
		cpu = fmt.Sprintf("CPU %s▏%s used, %s guaranteed", bar(float64(node.CPUUsed)/float64(node.CPUPool), nodeBar), node.CPUUsed, node.CPUPool)
	}
	parts := []string{cpu}
	for i, gpu := range node.GPUs {
		held := held(gpu.UUID, jobs)
		part := fmt.Sprintf("GPU %s %s▏%.3g of %.3g GiB", gpuName(node, i),
			bar(float64(held)/float64(max(gpu.Memory, 1)), nodeBar), gib(held), gib(gpu.Memory))
		if !gpu.Healthy {
			part += " unhealthy"
		}
		parts = append(parts, part)
	}
	if len(node.GPUs) == 0 {
		parts = append(parts, "no GPU")
	}
	const gap = "   "
	lines, line := []string{}, string(node.Name)
	for _, part := range parts {
		if utf8.RuneCountInString(line+gap+part) > s.Width && strings.TrimSpace(line) != "" {
			lines, line = append(lines, line), strings.Repeat(" ", len(node.Name))
		}
		line += gap + part
	}
	return append(lines, fit(line, s.Width, false))
}

// held returns the memory that jobs hold on a GPU.
func held(gpu growth.GPU, jobs []timeline.Job) (sum growth.MiB) {
	for _, j := range jobs {
		if j.GPU == gpu && !j.State.Over() {
			sum += j.GPUMemory
		}
	}
	return sum
}

func gib(m growth.MiB) float64 { return float64(m) / float64(growth.GiB) }

func gpuName(node timeline.Node, index int) string {
	switch {
	case node.Computes && node.Emulated:
		return fmt.Sprintf("%d (emulated compute)", index)
	case node.Emulated:
		return fmt.Sprintf("%d (emulated)", index)
	}
	return fmt.Sprint(index)
}

func jobLines(line *timeline.Timeline, last timeline.Reading, s Style) []string {
	rows := make([]row, len(last.Jobs))
	for i, job := range last.Jobs {
		rows[i] = row{job: job, gpu: gpuOf(job, last.Nodes), recent: every(line.Growths(job.Name, sparkWidth*sparkStride), sparkStride)}
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(rank(a.job), rank(b.job)), cmp.Compare(a.job.Node, b.job.Node), cmp.Compare(a.gpu, b.gpu))
	})
	columns, widths := fitted(columns(), rows, s.Width)
	var header strings.Builder
	for i, c := range columns {
		if widths[i] > 0 {
			header.WriteString(fit(c.title, widths[i], c.right) + "  ")
		}
	}
	lines := []string{s.paint(Faint, strings.TrimRight(header.String(), " "))}
	for _, r := range rows {
		var b strings.Builder
		for i, c := range columns {
			if widths[i] == 0 {
				continue
			}
			text, ink := c.cell(r)
			if r.job.State.Over() || r.job.State == timeline.Expected {
				ink = Faint
			}
			b.WriteString(s.paint(ink, fit(text, widths[i], c.right)) + "  ")
		}
		lines = append(lines, b.String())
	}
	return lines
}

// rank orders running jobs before waiting ones, and both before ended ones.
func rank(job timeline.Job) int {
	switch job.State {
	case timeline.Running, timeline.Starting:
		return 0
	case timeline.Pending:
		return 1
	case timeline.Expected:
		return 2
	}
	return 3
}

func gpuOf(job timeline.Job, nodes []timeline.Node) string {
	for _, n := range nodes {
		for i, g := range n.GPUs {
			if g.UUID == job.GPU {
				return gpuName(n, i)
			}
		}
	}
	return string(job.GPU)
}

// every keeps each stride-th value and the newest one.
func every(values []growth.Growth, stride int) []growth.Growth {
	var kept []growth.Growth
	for i := len(values) - 1; i >= 0; i -= stride {
		kept = append(kept, values[i])
	}
	slices.Reverse(kept)
	return kept
}

func clock(d time.Duration) string {
	seconds := int(d.Round(time.Second).Seconds())
	return fmt.Sprintf("%d:%02d", seconds/60, seconds%60)
}
