package clustersim

import (
	"math"
	"slices"

	"github.com/trellis-gpu/trellis/benchmarks/internal/sim"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// worker is a node of the cluster with its jobs, which share its CPUs, or its GPUs if it has any.
type worker struct {
	name growth.NodeName
	gpus []growth.GPU
	// capacity is the number of its GPUs, or of its CPUs.
	capacity float64
	node     *sim.Node
	jobs     []*job
	coming   []*job // on their way to it, in the order of their IDs
	ended    []*sim.Running
	rates    []float64 // work per second, by job
	wake     float64
	changed  bool
	// switching is the cost of a switch to another job, as a part of the time slice before it.
	switching float64
	// busy is the part of its capacity that is used since its last decision. use is the same, smoothed.
	busy, use float64
	// passed is the number of intervals that it has lived through.
	passed int
	// due is when something may happen to it, and at its place in the queue.
	due float64
	at  int
	// seen is what the extender knows about it, valid if current is set, and score its score for a new job with the stay scored.
	seen    placement.Node
	current bool
	score   placement.Score
	scored  growth.Seconds
}

// never is the stay with which a worker was scored that has not been scored yet.
const never growth.Seconds = -1

// interval is the time between two events of the cluster.
type interval struct {
	seconds float64
	// smoothed is the part of a change of utilization that the smoothed utilization follows in this time.
	smoothed float64
}

// smoothing is the time constant of use, in seconds.
const smoothing = 30

func newInterval(seconds float64) interval {
	return interval{seconds: seconds, smoothed: 1 - math.Exp(-seconds/smoothing)}
}

// catchUp lets the time pass that has passed in the cluster. It takes the intervals one by one, so that sums are rounded as if each had
// been added when it was over.
func (w *worker) catchUp(all []interval) (intervals int) {
	missed := all[w.passed:]
	w.passed = len(all)
	if len(missed) == 0 {
		return 0
	}
	seconds := 0.0
	for _, i := range missed {
		w.use += (w.busy - w.use) * i.smoothed
		seconds += i.seconds
	}
	for k, j := range w.jobs {
		done, rate := j.Done, w.rates[k]
		for _, i := range missed {
			done += rate * i.seconds
		}
		j.Done = done
		w.node.Charge(k, seconds)
	}
	return len(missed)
}

// running returns the jobs as its node sees them.
func (w *worker) running() []*sim.Running {
	all := make([]*sim.Running, len(w.jobs))
	for i, j := range w.jobs {
		all[i] = &j.Running
	}
	return all
}

// decide divides the capacity, if that is due, and reports whether it was.
func (w *worker) decide(now float64) bool {
	if !w.changed && now < w.wake {
		return false
	}
	w.changed, w.current = false, false
	if len(w.jobs) == 0 {
		w.node.Settle(now, w.ended)
		w.ended, w.rates, w.wake = nil, nil, math.Inf(1)
	} else {
		rates, next := w.node.Decide(now, w.running(), w.ended)
		w.ended, w.rates, w.wake = nil, rates, now+next
	}
	sum := 0.0
	for _, r := range w.rates {
		sum += r
	}
	w.busy = sum / w.capacity
	w.slow(sum)
	return true
}

// slow takes the cost of sharing off the rates, whose sum is given. The next time slice is another job's with the probability that two
// slices drawn by the rates differ. So equal jobs switch most often, and jobs of which one has nearly everything hardly ever.
func (w *worker) slow(sum float64) {
	if w.switching == 0 {
		return
	}
	same := 0.0
	for _, r := range w.rates {
		same += (r / sum) * (r / sum)
	}
	for i := range w.rates {
		w.rates[i] /= 1 + w.switching*(1-same)
	}
}

// nextEnd returns when the next of its jobs ends, if nothing changes.
func (w *worker) nextEnd(now float64) float64 {
	next := math.Inf(1)
	for i, j := range w.jobs {
		next = min(next, now+(j.Work-j.Done)/w.rates[i])
	}
	return next
}

// dust is work too small to matter, in seconds of one core or GPU. It is much larger than the rounding errors of a job's work.
const dust = 1e-6

// setDue sets due: before it no job has less than dust to do, as its work is rounded by then.
func (w *worker) setDue(now float64) {
	w.due = w.wake
	for i, j := range w.jobs {
		w.due = min(w.due, now+max(0, j.Work-j.Done-2*dust)/w.rates[i])
	}
}

// finish takes the jobs away that have ended.
func (w *worker) finish() (ended []*job) {
	over := func(j *job) bool { return j.Work-j.Done <= dust }
	if !slices.ContainsFunc(w.jobs, over) {
		return nil
	}
	var left []*job
	for _, j := range w.jobs {
		if !over(j) {
			left = append(left, j)
			continue
		}
		w.ended = append(w.ended, &j.Running)
		ended = append(ended, j)
	}
	w.setJobs(left)
	return ended
}

// remove takes a job away that moves.
func (w *worker) remove(moving *job) {
	w.setJobs(slices.DeleteFunc(slices.Clone(w.jobs), func(j *job) bool { return j == moving }))
	w.node.Leave(&moving.Running)
}

// add starts a job. The node's shares are in the order of the jobs' IDs.
func (w *worker) add(j *job, now float64) {
	j.Restart()
	j.placed = now
	w.setJobs(inserted(w.jobs, j))
}

// expect adds a job that is on its way.
func (w *worker) expect(j *job) { w.coming, w.current = inserted(w.coming, j), false }

// expectNoMore takes a job off the list of those on their way.
func (w *worker) expectNoMore(j *job) {
	w.coming = slices.DeleteFunc(w.coming, func(other *job) bool { return other == j })
	w.current = false
}

// setJobs sets the jobs, between which the capacity is divided before time passes.
func (w *worker) setJobs(jobs []*job) {
	w.jobs, w.rates, w.changed, w.current = jobs, nil, true, false
}

// inserted returns the jobs with one more, in the order of their IDs.
func inserted(jobs []*job, j *job) []*job {
	at, _ := slices.BinarySearchFunc(jobs, j, func(a, b *job) int { return a.Index - b.Index })
	return slices.Insert(jobs, at, j)
}
