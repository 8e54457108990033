package loop

import (
	"slices"

	"github.com/trellis-gpu/trellis/coordinator/internal/recall"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

const (
	// mostEnded bounds the jobs that are remembered after their end, mostAlike those of them that ran the same.
	mostEnded, mostAlike = 64, 4
)

// runs names what a job runs and is judged by: jobs of the same name learn alike, as far as their curves agree. It is empty
// where that is not known.
func (j *job) runs() string {
	if j.pod.Runs == "" {
		return ""
	}
	return j.pod.Runs + " " + j.wish.Metric + ":" + j.wish.Direction.String()
}

// retire remembers a job that has ended, in place of older ones.
func (l *Loop) retire(j *job) {
	ended := recall.Ended{Job: j.pod.Ref.String(), Runs: j.runs(), Curve: j.curve}
	if ended.Runs == "" || len(j.curve.Points) == 0 {
		return
	}
	l.retired = slices.Insert(l.retired, 0, ended)
	same := 0
	l.retired = slices.DeleteFunc(l.retired, func(e recall.Ended) bool {
		if e.Runs == ended.Runs {
			same++
		}
		return e.Runs == ended.Runs && same > mostAlike
	})
	l.retired = l.retired[:min(len(l.retired), mostEnded)]
}

// alike are the curves of jobs that run the same as another, of those that have ended and of those that still run, with
// their names.
func (l *Loop) alike(j *job) (names []string, curves []remaining.Curve) {
	runs := j.runs()
	if runs == "" {
		return nil, nil
	}
	for _, e := range l.retired {
		if e.Runs == runs {
			names, curves = append(names, e.Job), append(curves, e.Curve)
		}
	}
	for _, other := range l.sorted() {
		if other != j && other.runs() == runs {
			names, curves = append(names, other.pod.Ref.String()), append(curves, other.curve)
		}
	}
	return names, curves
}

// estimates are the work to the job's end, by the steps that it has said it will make, else by its curve, and the work
// until its metric is almost as good as it will be, by a job like it, whose name is told, else by its curve; each as far as
// it is known. The job like it sets this one's goal, too.
func (l *Loop) estimates(j *job) (left, need remaining.Estimate, like string) {
	perStep, _ := j.cost.perStep()
	p := remaining.Progress{Done: float64(j.odometer.steps), Total: float64(j.latest.TotalSteps), PerStep: perStep}
	if left = j.cost.left(j.odometer.steps, j.latest.TotalSteps); !left.Known {
		left = j.curve.Left(j.wish.Direction, p)
	}
	names, curves := l.alike(j)
	need, by := j.curve.NeedAmong(curves, j.wish.Direction, p)
	j.goal = nil
	switch {
	case by >= 0:
		like = names[by]
		if need.Likely > 0 && !j.good {
			j.goal = curves[by].Goal(j.wish.Direction, p.Total)
		}
	case !need.Known && p.Total > 0 && len(j.curve.Points) > 0: // without a metric nothing becomes good
		need = remaining.Presumed(growth.CoreSeconds(p.Done)*perStep, left)
	}
	return left, need, like
}
