package timeline

import (
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// Timeline keeps the readings of one run of a workload.
type Timeline struct {
	// Name is the policy.
	Name     string
	Began    time.Time
	Readings []Reading
	Changes  []Change
	// Reports are all metric reports of a job, by its name. A job whose log could not be read has none.
	Reports map[string][]Report
}

// Report is one report of a job's metric.
type Report struct {
	At    time.Time
	Step  int
	Value float64
}

// Add takes a reading and returns the changes since the previous one.
//
// Values that the reading lacks are carried over: the last step and metric of a job stay known after its coordinator
// has dropped the job, and while the tuner is unavailable.
func (t *Timeline) Add(r Reading) []Change {
	last, first := t.Last(), len(t.Readings) == 0
	if first && t.Began.IsZero() {
		t.Began = r.At
	}
	if r.Unavailable != "" && len(r.Nodes) == 0 {
		r.Nodes = last.Nodes
	}
	var changed []Change
	r.Jobs = slices.Clone(r.Jobs)
	for i, job := range r.Jobs {
		was, known := last.Job(job.Name)
		if !known {
			was = Job{Name: job.Name, Kind: job.Kind, State: Expected}
		}
		r.Jobs[i] = carried(was, job)
		changed = append(changed, changes(r.At, was, r.Jobs[i])...)
	}
	t.Readings = append(t.Readings, r)
	t.Changes = append(t.Changes, changed...)
	return changed
}

// Last returns the newest reading, or an empty one.
func (t *Timeline) Last() Reading {
	if len(t.Readings) == 0 {
		return Reading{}
	}
	return t.Readings[len(t.Readings)-1]
}

// Job returns the job of that name.
func (r Reading) Job(name string) (Job, bool) {
	for _, j := range r.Jobs {
		if j.Name == name {
			return j, true
		}
	}
	return Job{}, false
}

// Over reports whether all jobs have ended.
func (r Reading) Over() bool {
	return !slices.ContainsFunc(r.Jobs, func(j Job) bool { return !j.State.Over() })
}

// carried returns job with the coordinator's values of the previous reading. Those are some seconds older than the
// job's end: a finished job has completed all steps.
func carried(was, job Job) Job {
	if !job.Sampled && was.Sampled {
		job = merged(was, job)
	}
	if job.State == Finished && job.Reported && job.Steps > 0 {
		job.Step = job.Steps
	}
	return job
}

func merged(was, job Job) Job {
	pod := job
	job = was
	job.State, job.Restarts, job.Refusals = pod.State, pod.Restarts, pod.Refusals
	job.Submitted, job.Started, job.Ended = pod.Submitted, pod.Started, pod.Ended
	job.Sampled = true
	if pod.Node != "" {
		job.Node = pod.Node
	}
	if pod.GPU != "" {
		job.GPU, job.GPUMemory = pod.GPU, pod.GPUMemory
	}
	if pod.Request > 0 {
		job.Request = pod.Request
	}
	if job.State.Over() {
		job.CPUUsed, job.Share, job.Memory, job.GPUShare = 0, 0, 0, nil
	}
	return job
}

// Point is one job at one moment of a run.
type Point struct {
	// Since is the time since the start of the run.
	Since time.Duration
	Job   Job
}

// Course returns the readings of one job while it ran and its coordinator knew it.
func (t *Timeline) Course(name string) []Point {
	var course []Point
	for _, r := range t.Readings {
		if job, ok := r.Job(name); ok && job.State == Running && job.Sampled {
			course = append(course, Point{Since: r.At.Sub(t.Began), Job: job})
		}
	}
	return course
}

// Growths returns up to n of the latest growth values of a job, oldest first.
func (t *Timeline) Growths(name string, n int) []growth.Growth {
	var recent []growth.Growth
	for i := len(t.Readings) - 1; i >= 0 && len(recent) < n; i-- {
		job, ok := t.Readings[i].Job(name)
		if !ok || !job.Reported {
			break
		}
		recent = append(recent, job.Growth)
	}
	slices.Reverse(recent)
	return recent
}
