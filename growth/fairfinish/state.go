package fairfinish

import (
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// Job is a job before a decision.
type Job struct {
	ID growth.PodUID
	// Used is the CPU that the job has consumed since it started, from its cgroup. A smaller value than before means
	// that the container has restarted and counts from zero.
	Used growth.Work
	// CPUWait is the time since the job started in which it was ready to run but waited for a CPU. It is valid if
	// CPUWaitKnown is set.
	CPUWait      growth.Seconds
	CPUWaitKnown bool
	// Remaining is the work to the job's end. A job for which it is unknown gets its fair share.
	Remaining remaining.Estimate
	// ToTarget is the work until the metric reaches 95 % of its improvement; known and 0 after that.
	ToTarget remaining.Estimate
	// TargetFromSimilar is set if ToTarget comes from similar jobs and not from the job's own curve.
	TargetFromSimilar bool
	// Doubtful is set for a job whose Remaining rests on what other nodes say, and that has confirmed nothing of it yet. Such a size orders
	// the slack only. What is due, to this job and to the others, is as if the size was unknown.
	Doubtful bool
	// FloorOnly is set for a job that has nothing to gain, or that is to give way to all others. Only its floor is due,
	// and it comes last. Fair sharing still serves it, so it catches up once FloorOnly is no longer set.
	FloorOnly bool
	// Deadline is the deadline of the job's user.
	Deadline UserDeadline
	// Weight is the job's weight in fair sharing, 0.001 to 1000; 0 means 1.
	Weight float64
	// Limit is the most CPU that the job can use at once; 0 means no limit.
	Limit growth.MilliCPU
	// On lists the GPUs that the job uses at the same time, if GPUs are divided. Its work is in GPU-seconds: in one second
	// it does at most one for each of its GPUs.
	On []growth.GPU
	// Speedup is the work of all jobs per second, in GPU-seconds on each of these GPUs, if all of them compute at the same
	// time; 0 means 1. It is the capacity of plain sharing, and of the plan.
	Speedup float64
	// Overlap has the speeds of the job next to others, where kernels of several jobs overlap. Without it plain sharing is
	// processor sharing.
	Overlap Overlap
	// Paused is set for a job that its user has stopped. Both nodes are as without it, and it gets no grant. Once Paused is no
	// longer set it continues where it was on both.
	Paused bool
	// Finished is set for a job that has ended and appears for the last time, with its last Used. A job that is missing
	// from the input has ended too, with the usage last seen.
	Finished bool
}

// State persists between decisions and survives a restart as JSON. The zero value is a node without jobs.
type State struct {
	// At is the time of the last decision.
	At time.Time `json:"at"`
	// Served is the fraction of Config.Cores that the jobs received when they last wanted all of it; 0 if they never
	// did. Other processes on the node use the rest, and their usage changes from second to second.
	Served float64 `json:"served,omitempty"`
	// Accounts has the running jobs, and the jobs that have ended but still run under fair sharing.
	Accounts map[growth.PodUID]Account `json:"accounts"`
}

// next returns the state at now: usage is charged, fair sharing has advanced, jobs have arrived and ended.
func (s State) next(c Config, now time.Time, jobs []Job) State {
	elapsed := max(0, now.Sub(s.At).Seconds()) // a clock that was set back measures nothing
	seen := s.observe(c, jobs, elapsed)
	n := State{
		At:       now,
		Served:   seen.cores / c.Cores.Cores(),
		Accounts: make(map[growth.PodUID]Account, len(jobs)),
	}
	for id, a := range s.Accounts {
		if !a.Paused {
			a.Age += growth.Seconds(elapsed)
		}
		n.Accounts[id] = a
	}
	// 1. Update the jobs that were present. A new prediction changes the size that FairWork grows towards, but never
	// FairWork itself.
	present := make(map[growth.PodUID]bool, len(jobs))
	for _, j := range jobs {
		present[j.ID] = true
		if a, known := n.Accounts[j.ID]; known && !a.Ended {
			n.Accounts[j.ID] = a.update(j, seen)
		}
	}
	for id, a := range n.Accounts {
		a.Ended = a.Ended || !present[id]
		n.Accounts[id] = a
	}
	n.advanceFair(seen.cores, elapsed)
	// 2. Add the jobs that have arrived, and remove those that have ended on both nodes.
	for _, j := range jobs {
		// A job whose account has ended is new, too: its pod was taken for ended, and runs again.
		if a, known := n.Accounts[j.ID]; (!known || a.Ended) && !j.Finished {
			n.Accounts[j.ID] = Account{Counter: j.Used, Starting: j.starts()}.update(j, observation{cores: seen.cores})
		}
		if a, known := n.Accounts[j.ID]; known {
			a.Paused = j.Paused // from now on
			n.Accounts[j.ID] = a
		}
	}
	for id, a := range n.Accounts {
		if a.Ended && !a.active() {
			delete(n.Accounts, id)
		}
	}
	return n
}

// sorted returns the accounts for which keep returns true, ordered by ID.
func (s State) sorted(keep func(Account) bool) (ids []growth.PodUID, accounts []Account) {
	for id, a := range s.Accounts {
		if keep(a) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		accounts = append(accounts, s.Accounts[id])
	}
	return ids, accounts
}
