package demo

import (
	"errors"
	"fmt"

	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
)

// minPoints is the number of points that a job's curve has at least. The readings are a second apart, and each job of
// the demo trains for more than ten.
const minPoints = 5

// restarts counts the events in which a coordinator took a job for a restarted one, by job.
type restarts map[string]int

func (r *restarts) add(s cluster.Story) {
	if s.Reason != "JobRestarted" {
		return
	}
	if *r == nil {
		*r = restarts{}
	}
	(*r)[s.Object]++
}

// curves returns an error that lists the jobs without a curve, and those that were taken for restarted jobs although
// their containers were not restarted.
func (r *Run) curves() error {
	var broken []error
	for _, job := range r.line.Last().Jobs {
		c := r.line.Curve(job.Name)
		if c.Points < minPoints {
			broken = append(broken, fmt.Errorf("under %s, %s has a curve of %d points: at least %d are expected", r.Policy, job.Name, c.Points, minPoints))
		}
		if job.Restarts == 0 && (c.Backwards || r.restarts[job.Name] > 0) {
			broken = append(broken, fmt.Errorf("under %s, %s was taken for a restarted job %d times, and its container was not restarted",
				r.Policy, job.Name, max(r.restarts[job.Name], 1)))
		}
	}
	return errors.Join(broken...)
}
