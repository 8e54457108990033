package table

import (
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/trellis-gpu/trellis/benchmarks/internal/timeline"
	"github.com/trellis-gpu/trellis/growth"
)

// column is a column of the job table.
type column struct {
	title string
	right bool
	// worth ranks columns: in a narrow table the lowest are dropped first.
	worth int
	// optional is set for a column that is left out if all of its cells are empty.
	optional bool
	cell     func(row) (string, Ink)
}

// row is a job with the data of the run that its cells need.
type row struct {
	job    timeline.Job
	gpu    string
	recent []growth.Growth
}

const sparkWidth, shareWidth, stepWidth = 8, 8, 8

func columns() []column {
	return []column{
		{title: "NODE", worth: 9, cell: func(r row) (string, Ink) { return string(r.job.Node), Normal }},
		{title: "GPU", worth: 8, cell: func(r row) (string, Ink) { return r.gpu, Normal }},
		{title: "JOB", worth: 10, cell: func(r row) (string, Ink) { return r.job.Name, Bold }},
		{title: "KIND", worth: 3, cell: func(r row) (string, Ink) { return r.job.Kind, Faint }},
		{title: "STATE", worth: 10, cell: stateCell},
		{title: "", worth: 1, cell: func(r row) (string, Ink) { return progressBar(r.job), Cyan }},
		{title: "STEP", right: true, worth: 10, cell: stepCell},
		{title: "METRIC", worth: 6, cell: metricCell},
		{title: "GROWTH", worth: 5, cell: sparkCell},
		{title: "", right: true, worth: 7, cell: growthCell},
		{title: "CATEGORY", worth: 10, cell: func(r row) (string, Ink) { return string(r.job.Category), categoryInk(r.job.Category) }},
		{title: "CPU SHARE", worth: 2, cell: shareBar},
		{title: "", right: true, worth: 9, cell: shareCell},
		{title: "GPU SHARE", right: true, worth: 9, optional: true, cell: gpuShareCell},
		{title: "REQUEST", right: true, worth: 9, cell: requestCell},
		{title: "LOADERS", right: true, worth: 8, cell: loadersCell},
		{title: "MEMORY", right: true, worth: 4, cell: memoryCell},
	}
}

func stateCell(r row) (string, Ink) {
	text := string(r.job.State)
	if r.job.Restarts > 0 {
		text += fmt.Sprintf(" ↻%d", r.job.Restarts)
	}
	switch r.job.State {
	case timeline.Running:
		return text, Green
	case timeline.Failed, timeline.Gone:
		return text, Red
	case timeline.Finished:
		return text, Cyan
	case timeline.Pending, timeline.Starting:
		return text, Yellow
	}
	return text, Faint
}

func progressBar(job timeline.Job) string {
	switch {
	case job.State == timeline.Finished:
		return bar(1, stepWidth)
	case !job.Reported || job.Steps == 0:
		return ""
	}
	return bar(float64(job.Step)/float64(job.Steps), stepWidth)
}

func stepCell(r row) (string, Ink) {
	if !r.job.Reported {
		return "", Normal
	}
	if r.job.Steps == 0 {
		return fmt.Sprintf("%d reports", r.job.Step), Normal
	}
	return fmt.Sprintf("%d/%d", r.job.Step, r.job.Steps), Normal
}

func metricCell(r row) (string, Ink) {
	if !r.job.Reported || r.job.Metric == "" {
		return "", Normal
	}
	return r.job.Metric + " " + strconv.FormatFloat(r.job.Value, 'g', 4, 64), Normal
}

func sparkCell(r row) (string, Ink) {
	if r.job.State != timeline.Running {
		return "", Normal
	}
	return spark(r.recent, sparkWidth), categoryInk(r.job.Category)
}

func growthCell(r row) (string, Ink) {
	if !r.job.Reported || r.job.State != timeline.Running {
		return "", Normal
	}
	return fmt.Sprintf("%.2f", float64(r.job.Growth)), Normal
}

func shareBar(r row) (string, Ink) {
	if !r.job.Sampled || r.job.State != timeline.Running || !r.job.DividesCPU() {
		return "", Normal
	}
	return bar(float64(r.job.Share), shareWidth), Blue
}

func shareCell(r row) (string, Ink) {
	if !r.job.Sampled || r.job.State != timeline.Running || !r.job.DividesCPU() {
		return "", Normal
	}
	return r.job.Share.String(), Normal
}

func gpuShareCell(r row) (string, Ink) {
	if r.job.GPUShare == nil || r.job.State != timeline.Running {
		return "", Normal
	}
	return r.job.GPUShare.String(), Normal
}

func requestCell(r row) (string, Ink) {
	if r.job.Request == 0 || r.job.State.Over() {
		return "", Normal
	}
	return r.job.Request.String(), Normal
}

func loadersCell(r row) (string, Ink) {
	if r.job.Loaders == nil || r.job.State.Over() {
		return "", Normal
	}
	return strconv.Itoa(*r.job.Loaders), Normal
}

func memoryCell(r row) (string, Ink) {
	if r.job.Memory == 0 || r.job.State.Over() {
		return "", Normal
	}
	return r.job.Memory.String(), Faint
}

// fitted sizes columns by their content and drops the least important ones until the rest fits.
func fitted(all []column, rows []row, width int) ([]column, []int) {
	widths := func(columns []column) (each []int, total int) {
		for _, c := range columns {
			w := 0
			for _, r := range rows {
				text, _ := c.cell(r)
				w = max(w, utf8.RuneCountInString(text))
			}
			if w > 0 || !c.optional {
				w = max(w, utf8.RuneCountInString(c.title))
			}
			each = append(each, w)
			if w > 0 {
				total += w + 2
			}
		}
		return each, total
	}
	for {
		each, total := widths(all)
		least := 0
		for i, c := range all {
			if c.worth < all[least].worth {
				least = i
			}
		}
		if total <= width || len(all) == 1 || all[least].worth >= 10 {
			return all, each
		}
		all = append(all[:least:least], all[least+1:]...)
	}
}
