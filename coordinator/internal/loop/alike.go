package loop

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/trellis-gpu/trellis/coordinator/internal/recall"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

const (
	// mostEnded bounds the jobs that are remembered after their end, mostAlike those of them that ran the same. So they are
	// four of each of sixteen programs, or the newest of each of sixty-four.
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

// retire remembers a job that has ended, in place of older ones: of the same program, or of the one that has most.
func (l *Loop) retire(j *job) {
	ended := recall.Run{Job: j.pod.Ref.String(), Runs: j.runs(), Curve: j.curve, Whole: j.whole()}
	if ended.Runs == "" || len(j.curve.Points) == 0 {
		return
	}
	ended.Whole.StepCost = j.cost.overall()
	l.retired = slices.Insert(l.retired, 0, ended)
	same, most := map[string]int{}, 0
	for _, e := range l.retired {
		same[e.Runs]++
		most = max(most, same[e.Runs])
	}
	if most <= mostAlike && len(l.retired) <= mostEnded {
		return
	}
	for i, e := range slices.Backward(l.retired) { // the oldest first
		if same[e.Runs] == most {
			l.retired = slices.Delete(l.retired, i, i+1)
			return
		}
	}
}

// whole is what is known of a job's whole work.
func (j *job) whole() remaining.Profile {
	perStep, _ := j.cost.perStep()
	return remaining.Profile{Numbers: j.pod.Numbers, Total: float64(j.latest.TotalSteps), StartupCost: j.cost.start(), StepCost: perStep}
}

// alike are the jobs that run the same as another: those that have ended, the newest first, and those that still run.
func (l *Loop) alike(j *job) (others []recall.Run) {
	runs := j.runs()
	if runs == "" {
		return nil
	}
	for _, e := range l.retired {
		if e.Runs == runs {
			others = append(others, e)
		}
	}
	for _, other := range l.sorted() {
		if other != j && other.runs() == runs {
			others = append(others, recall.Run{Job: other.pod.Ref.String(), Runs: runs, Curve: other.curve, Whole: other.whole()})
		}
	}
	return others
}

// supposed is the part of its steps that a job counts what another's have cost for.
const supposed = 0.1

// suppose tells a job whose own steps have shown nothing yet what those of another have cost, the one with the very same
// numbers if there is one.
func (l *Loop) suppose(j *job) {
	var whole remaining.Profile
	for _, other := range l.alike(j) {
		if same := slices.Equal(other.Whole.Numbers, j.pod.Numbers); other.Whole.StepCost > 0 && (same || whole.StepCost == 0) {
			if whole = other.Whole; same {
				break
			}
		}
	}
	j.cost.suppose(whole.StepCost, supposed*cmp.Or(float64(j.latest.TotalSteps), whole.Total))
}

// outlook is what is foreseen of a job.
type outlook struct {
	// left is the work to its end, need that until its metric is almost as good as it will be, each as far as it is known.
	left, need remaining.Estimate
	// like names the jobs that tell need; it is empty where the job's own curve does. It is foretold, and not guessed, where
	// they have come as far as this one will.
	like     string
	foretold bool
}

// foresee goes by the steps that the job has said it will make, and by jobs like it, else by its curve. What its steps cost is
// another's to tell before it has made any.
func (l *Loop) foresee(j *job) (o outlook) {
	others := l.alike(j)
	var p remaining.Progress
	p, o.left = l.progress(j, others)
	curves := make([]remaining.Curve, len(others))
	for i, other := range others {
		curves[i] = other.Curve
	}
	var by []int
	o.need, by, o.foretold = j.curve.WorkToTargetAmong(curves, j.wish.Direction, p)
	switch {
	case len(by) > 1:
		o.like = fmt.Sprintf("%s and %d more", others[by[0]].Job, len(by)-1)
	case len(by) == 1:
		o.like = others[by[0]].Job
	case !o.need.Known && p.Total > 0 && len(j.curve.Points) > 0: // without a metric nothing becomes good
		o.need = remaining.TypicalWorkToTarget(growth.CoreSeconds(p.Done)*p.StepCost, o.left)
	}
	return o
}

// progress is how far a job is, and what is left of it: by its own steps once it is known what these cost, else by another job.
// The one with the very same numbers tells most, else the first one by which anything is known.
func (l *Loop) progress(j *job, others []recall.Run) (p remaining.Progress, left remaining.Estimate) {
	p = remaining.Progress{Done: float64(j.odometer.steps), Total: float64(j.latest.TotalSteps)}
	if p.StepCost, _ = j.cost.perStep(); p.StepCost > 0 {
		if left = j.cost.left(j.odometer.steps, j.latest.TotalSteps); !left.Known {
			left = j.curve.RemainingWork(j.wish.Direction, p)
		}
		return p, left
	}
	own := p
	for _, other := range others {
		same := slices.Equal(other.Whole.Numbers, j.pod.Numbers)
		if left.Known && !same {
			continue
		}
		if q, foretold := other.Whole.Predict(own, j.pod.Numbers, growth.CoreSeconds(j.usage.CPU)); foretold.Known {
			p, left = q, foretold
			if same {
				break
			}
		}
	}
	return p, left
}
