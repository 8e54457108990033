package plot

import (
	"fmt"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/benchmarks/internal/timeline"
	"github.com/trellis-gpu/trellis/growth"
)

// panel is the drawing area of one job, with the end of its time axis.
type panel struct {
	*canvas
	x, y float64
	end  time.Duration
}

func (p panel) at(since time.Duration, part float64) point {
	return point{
		x: p.x + panelW*min(max(float64(since)/float64(p.end), 0), 1),
		y: p.y + panelH*(1-min(max(part, 0), 1)),
	}
}

func (p panel) draw(job timeline.Job, run, other *timeline.Timeline) {
	course := run.Course(job.Name)
	p.text(p.x, p.y-24, "job", job.Name)
	p.text(p.x, p.y-8, "", caption(job, run, other))
	p.bands(course)
	p.axes()
	if other != nil {
		p.path(p.steps(dividedCPU(other.Course(job.Name)), cpuShare), "other")
		if same, ok := other.Last().Job(job.Name); ok {
			p.ending(same, other, "otherend")
		}
	}
	p.path(p.growth(course), "growth")
	p.path(p.steps(dividedCPU(course), cpuShare), "share")
	p.path(p.steps(divided(course), gpuShare), "gpu")
	p.ending(job, run, "end")
}

func caption(job timeline.Job, run, other *timeline.Timeline) string {
	text := job.Kind
	if job.Node != "" {
		text += fmt.Sprintf(" on %s, GPU %s", job.Node, gpuName(job.GPU, run.Last().Nodes))
	}
	if job.State != timeline.Finished {
		return text + ": " + string(job.State)
	}
	text += ": " + seconds(job.Completion())
	if other != nil {
		if same, ok := other.Last().Job(job.Name); ok && same.State == timeline.Finished {
			text += fmt.Sprintf(" (%s: %s)", other.Name, seconds(same.Completion()))
		}
	}
	return text
}

func gpuName(gpu growth.GPU, nodes []timeline.Node) string {
	for _, n := range nodes {
		for i, g := range n.GPUs {
			if g.UUID == gpu {
				return fmt.Sprint(i)
			}
		}
	}
	return string(gpu)
}

// bands colours the background by category.
func (p panel) bands(course []timeline.Point) {
	for from := 0; from < len(course); {
		to := from
		for to+1 < len(course) && course[to].Job.Category == course[from].Job.Category {
			to++
		}
		left, right := p.at(course[from].Since, 1), p.at(course[to].Since, 1)
		p.rect(left.x, p.y, right.x-left.x, panelH, fill(course[from].Job.Category))
		if to == from {
			break
		}
		from = to
	}
}

func (p panel) axes() {
	for _, part := range []float64{0, 0.5, 1} {
		left := p.at(0, part)
		p.line(p.x, left.y, p.x+panelW, left.y, "grid")
		p.text(p.x-6, left.y+4, "right", fmt.Sprintf("%.0f %%", 100*part))
	}
	for t := time.Duration(0); t <= p.end; t += tick(p.end) {
		bottom := p.at(t, 0)
		p.line(bottom.x, bottom.y, bottom.x, bottom.y+4, "axis")
		p.text(bottom.x, bottom.y+17, "middle", fmt.Sprintf("%.0f", t.Seconds()))
	}
	p.line(p.x, p.y+panelH, p.x+panelW, p.y+panelH, "axis")
}

func cpuShare(j timeline.Job) growth.Share { return j.Share }

func gpuShare(j timeline.Job) growth.Share { return *j.GPUShare }

// dividedCPU returns the points at which the job had a share of its node's CPU.
func dividedCPU(course []timeline.Point) []timeline.Point {
	return slices.DeleteFunc(slices.Clone(course), func(p timeline.Point) bool { return !p.Job.DividesCPU() })
}

// divided returns the points at which the job had a share of the time of its GPUs.
func divided(course []timeline.Point) []timeline.Point {
	return slices.DeleteFunc(slices.Clone(course), func(p timeline.Point) bool { return p.Job.GPUShare == nil })
}

// steps draws shares, which are constant between two readings. It keeps corners and drops points on a straight line.
func (p panel) steps(course []timeline.Point, share func(timeline.Job) growth.Share) []point {
	var line []point
	for i, c := range course {
		now := p.at(c.Since, float64(share(c.Job)))
		changed := i > 0 && share(c.Job) != share(course[i-1].Job)
		if changed {
			line = append(line, point{x: now.x, y: line[len(line)-1].y})
		}
		if changed || i == 0 || i == len(course)-1 {
			line = append(line, now)
		}
	}
	return line
}

// growth draws a measured value, with at most one point per pixel.
func (p panel) growth(course []timeline.Point) []point {
	var line []point
	for i, c := range course {
		now := p.at(c.Since, float64(c.Job.Growth))
		if !c.Job.Reported || (len(line) > 0 && now.x-line[len(line)-1].x < 1 && i < len(course)-1) {
			continue
		}
		line = append(line, now)
	}
	return line
}

func (p panel) ending(job timeline.Job, run *timeline.Timeline, class string) {
	if job.State != timeline.Finished || job.Ended.IsZero() {
		return
	}
	top := p.at(job.Ended.Sub(run.Began), 1)
	p.line(top.x, top.y, top.x, top.y+panelH, class)
}
