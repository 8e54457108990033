package turn

import (
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// Job is a job of a group.
type Job struct {
	ID growth.PodUID
	// GPUs are used at the same time.
	GPUs []growth.GPU
	// Share is the fraction of time in which the GPUs should be the job's: it holds them, or they are kept for it. Only the
	// ratios of shares matter.
	Share growth.Share
	// Always is set for a job that is never paused.
	Always bool
	// Least is the shortest quantum of the job, if that is longer than Config.Least: pausing it is expensive.
	Least time.Duration
	// Set is the number of the set with which the job holds the turn; 0 for a job that holds it alone.
	Set int
	// Speed is the speed of the job while its whole set computes, relative to computing alone. 0 means 1.
	Speed float64
}

// State is what a job does.
type State int

// All states. A job that has never reported is Absent: it can neither be paused nor wait.
const (
	Absent State = iota
	Idle
	Ready
	Holding
	Stopping
	Overdue
)

// Use is what a job has used since it joined.
type Use struct {
	Held   time.Duration // time in which it computed
	Alone  time.Duration // part of Held in which no other job of its GPUs computed
	Waited time.Duration // time in which it was ready without the turn
	Kept   time.Duration // time in which it was idle and its GPUs were kept for it
	// Together has the rest of Held by the other jobs that computed. It has the last few combinations of jobs.
	Together []Together
}

// Together is the time in which a job and exactly these others computed, in the order of their IDs.
type Together struct {
	Others []growth.PodUID
	Held   time.Duration
}

// maxTogether bounds the combinations of jobs that a job remembers.
const maxTogether = 16

// mostTaken bounds job.taken.
const mostTaken = 8

// leastShare bounds the virtual time of a job whose share is 0.
const leastShare = 0.001

// job is the state of one job.
type job struct {
	Job
	state   State
	use     Use
	virtual time.Duration // time held and kept, divided by the share
	until   time.Time     // end of the quantum of a job that holds
	answer  time.Time     // time until which a job that is stopping must answer
	urgent  bool          // was idle before it became ready
	taken   int           // times in a row that it computed while another job had the turn

	since time.Time     // beginning of the pause of an idle job
	pause time.Duration // mean of its pauses
	asked time.Time     // when a job that is stopping was asked to
	stops time.Duration // mean time that it took to stop
	keep  time.Time     // until then, its GPUs are kept for an idle job
}

// computes reports whether the job uses its GPUs.
func (j *job) computes() bool {
	return j.state == Holding || j.state == Stopping || j.state == Overdue
}

// blocks reports whether the job keeps others from its GPUs.
func (j *job) blocks() bool {
	return !j.Always && (j.state == Holding || j.state == Stopping)
}

// overlaps reports whether the jobs have a GPU in common.
func (j *job) overlaps(other *job) bool {
	return j != other && slices.ContainsFunc(j.GPUs, func(gpu growth.GPU) bool { return slices.Contains(other.GPUs, gpu) })
}

// mates reports whether the jobs hold the turn of a GPU together.
func (j *job) mates(other *job) bool { return j.Set != 0 && j.Set == other.Set && j.overlaps(other) }

// conflicts reports whether only one of the jobs can hold the turn of a GPU.
func (j *job) conflicts(other *job) bool { return j.overlaps(other) && !j.mates(other) }

// need returns the time that the job needs, relative to others: its share, divided by its speed in its set.
func (j *job) need() float64 {
	need := max(float64(j.Share), leastShare)
	if j.Set != 0 && j.Speed > 0 {
		need /= j.Speed
	}
	return need
}

// charge adds time that the job has held, next to others that computed as well.
func (j *job) charge(held time.Duration, speed float64, others []growth.PodUID) {
	j.use.Held += held
	j.age(time.Duration(speed * float64(held)))
	if len(others) == 0 {
		j.use.Alone += held
		return
	}
	all := j.use.Together
	i := slices.IndexFunc(all, func(t Together) bool { return slices.Equal(t.Others, others) })
	if i < 0 {
		if len(all) == maxTogether {
			all = slices.Delete(all, 0, 1)
		}
		i = len(all)
		all = append(all, Together{Others: slices.Clone(others)})
	}
	all[i].Held += held
	j.use.Together = all
}

// age adds time to the virtual time.
func (j *job) age(held time.Duration) {
	j.virtual += time.Duration(float64(held) / max(float64(j.Share), leastShare))
}

// shift moves all times of a job after the clock has been set.
func (j *job) shift(by time.Duration) {
	for _, t := range []*time.Time{&j.until, &j.answer, &j.since, &j.asked, &j.keep} {
		*t = t.Add(by)
	}
}
