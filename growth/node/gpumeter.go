package node

import (
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

const (
	// startTime is the time that a job has to connect for turns and to make its first step, connectTime the time to connect
	// again.
	startTime   = 2 * time.Minute
	connectTime = 30 * time.Second
	// sharedPart is the fraction of a job's time on a GPU that others may have computed as well before its charge counts as
	// uncertain.
	sharedPart = 0.05
	// briefPart is the fraction of the time of which a job has its GPUs below which its steps say only what they cost at most.
	briefPart = 0.05
	// mostOfTurns is the fraction of the time of which a job that takes turns has its GPUs at most. With more it computes all the time.
	mostOfTurns = 0.9
)

// gpuReading is the time in which a job computed since the last reading.
type gpuReading struct {
	alone  growth.Seconds // without any other job
	shared growth.Seconds // while others may have computed
	waited growth.Seconds // not computed, but ready
	turns  turnSteps      // made alone
	// together are parts of shared. set is the part that is charged by the speed of a set, setWork its charge, and setTime the
	// job's equal part of it.
	together              []Together
	set, setWork, setTime growth.Seconds
	// exact is set if shared is the time in which the job's kernels ran next to other jobs, as the driver has measured it.
	exact bool
	// measured is set for a job that is connected for turns.
	measured bool
}

// meterGPUs charges each job the work on its GPUs since the last call. A job that computes alone is charged all of the
// time, jobs that compute at the same time are charged equal parts of it.
func (n *Node) meterGPUs(uses map[growth.PodUID]GPUUse, busy GPUBusy) {
	before := n.gpusMetered
	n.gpusMetered = n.now
	if !n.dividesGPUs() {
		return
	}
	if !before.IsZero() && slices.ContainsFunc(n.groups, func(g gpuGroup) bool { return g.turns }) {
		n.turnTime += max(0, n.now.Sub(before))
	}
	for _, g := range connect(n.gpuJobs()) {
		readings := make([]gpuReading, len(g.jobs))
		for i, j := range g.jobs {
			use, known := uses[j.pod.Ref.UID]
			if known {
				n.reportOverdue(j, use)
			}
			readings[i] = n.readGPU(j, use, known, before)
			readings[i] = n.readMeasured(j, readings[i], busy, before)
			j.gpu.addSpan(readings[i], j.reportedPart(before, n.now))
			j.countSet(readings[i])
			n.chargeTogether(j, &readings[i])
		}
		n.chargeGroup(g, readings, before)
	}
}

// readMeasured replaces the reading of a job by what the driver has measured, if it has and the job is not connected for turns
// or computes outside them.
func (n *Node) readMeasured(j gpuJob, r gpuReading, busy GPUBusy, before time.Time) gpuReading {
	b := &j.gpu.busy
	until := b.measured
	kernels, measured := n.readBusy(j, busy)
	j.gpu.metered = measured && !r.measured
	if !j.gpu.metered {
		b.owed = 0
		if measured {
			return n.checkTurns(j, r, kernels, b.measured-until)
		}
		return r
	}
	due := b.due(kernels, growth.Seconds(n.now.Sub(before).Seconds()))
	if n.freezes(j) != "" && j.gpu.paused { // no other job has computed next to it
		return gpuReading{alone: due, measured: true}
	}
	return gpuReading{shared: due, exact: true}
}

// readGPU returns what a job has used since the last reading. A job that is not connected is assumed to compute all the
// time that it does not wait for data.
func (n *Node) readGPU(j gpuJob, use GPUUse, known bool, before time.Time) gpuReading {
	last := j.gpu.seen
	if use.Held < last.Held || use.Waited < last.Waited {
		last = GPUUse{} // the counters have started again
	}
	if known {
		j.gpu.seen = use
		j.lifetime.GPUHeld += use.Held - last.Held
		j.lifetime.GPUWaited += use.Waited - last.Waited
		j.gpu.unfreezable = use.Unfreezable
		if use.Frozen {
			n.announceFreezing(j)
		}
	}
	if known && use.Gated {
		j.gpu.gated = n.now
		held := use.Held - last.Held
		alone := min(max(use.Alone-last.Alone, 0), held)
		return gpuReading{
			alone:    alone,
			shared:   held - alone,
			waited:   use.Waited - last.Waited,
			turns:    turnsSince(use, last),
			together: togetherSince(use.Together, last.Together),
			measured: true,
		}
	}
	if n.connecting(j) && j.leader().counter.steps == 0 || before.IsZero() {
		return gpuReading{}
	}
	since := n.now.Sub(before)
	if here := n.now.Sub(j.lifetime.began); here < since {
		since = max(here, 0)
	}
	busy := growth.Seconds(since.Seconds())
	if r := j.leader().rates; r.step > 0 {
		busy *= 1 - min(r.load/r.step, 1)
	}
	return gpuReading{shared: busy}
}

// connecting reports whether a job is not connected for turns, but may be soon.
func (n *Node) connecting(j gpuJob) bool {
	switch {
	case !j.gpu.gated.IsZero():
		return n.now.Sub(j.gpu.gated) < connectTime
	case j.leader().counter.steps > 0: // without having asked for a turn
		return false
	}
	return n.now.Sub(j.arrived) < startTime
}

// summariseUse sets what the job has done since the last tick.
func (j *job) summariseUse() {
	t, w := &j.gpu, j.gpu.sinceTick
	t.rate, t.recent, t.sinceTick = 0, recentUse{}, useSince{}
	if w.elapsed > 0 {
		t.rate = growth.MilliCPU(1000 * w.work / w.elapsed)
		t.recent = recentUse{
			held:     growth.Share(min(w.held/w.elapsed, 1)),
			waited:   growth.Share(min(w.waited/w.elapsed, 1)),
			measured: w.measured,
		}
	}
}

// chargeGroup adds the readings of a group's jobs since the last look to their work and to their waits.
func (n *Node) chargeGroup(g gpuGroup, readings []gpuReading, before time.Time) {
	elapsed := growth.Seconds(max(0, n.now.Sub(before).Seconds()))
	charges := make([]growth.Seconds, len(g.jobs))
	shared := make([]bool, len(g.jobs))
	for _, gpu := range g.gpus {
		var on []int
		var of []gpuReading
		for i, j := range g.jobs {
			if slices.Contains(j.gpus, gpu) {
				on, of = append(on, i), append(of, readings[i])
			}
		}
		for k, c := range chargeGPU(of, elapsed) {
			charges[on[k]] += c.work
			shared[on[k]] = shared[on[k]] || c.shared
		}
	}
	for i, j := range g.jobs {
		r, t := readings[i], &j.gpu
		c := charged{elapsed: elapsed, all: r.alone + r.shared + r.set, work: charges[i]}
		if shared[i] {
			c.unsure = c.all
		}
		t.charge(c, j.reportedPart(before, n.now))
		t.turns = t.turns.plus(r.turns)
		t.waited += r.waited + max(0, r.alone+r.shared+r.set-charges[i]/j.width())
		t.sinceTick.elapsed += elapsed
		t.sinceTick.work += charges[i]
		t.sinceTick.held += c.all
		t.sinceTick.waited += r.waited
		t.sinceTick.measured = r.measured
	}
}

// gpuCharge is the work of one job on one GPU. shared is set if others have computed at the same time.
type gpuCharge struct {
	work   growth.Seconds
	shared bool
}

// chargeGPU divides the busy time of one GPU among the jobs on it.
func chargeGPU(readings []gpuReading, elapsed growth.Seconds) []gpuCharge {
	all, exact := chargeMeasured(readings, elapsed)
	plain := len(all) > 1 && slices.ContainsFunc(all, func(r gpuReading) bool { return !r.measured && !r.exact && r.shared > 0 })
	var alone, sum, most, together growth.Seconds
	for i := range all {
		r := &all[i]
		if plain && !r.exact { // a job that is never paused computes next to those that hold the turn
			r.alone, r.shared = 0, r.alone+r.shared+r.set
			r.set, r.setWork, r.setTime = 0, 0, 0
		}
		if !r.exact {
			alone += r.alone + r.setTime
			sum += r.shared
			most = max(most, r.shared)
			together += r.shared + r.set
		}
	}
	busy := max(0, min(elapsed-exact-alone, max(most, sum/2)))
	charges := make([]gpuCharge, len(all))
	for i, r := range all {
		if r.exact {
			charges[i].work = r.alone + r.shared
			continue
		}
		charges[i].work = r.alone + r.setWork
		if sum > 0 {
			charges[i].work += busy * r.shared / sum
		}
		least := sharedPart * (r.alone + r.shared + r.set)
		left := len(all) == 1 && r.measured // the others, next to which the job has computed, have left
		charges[i].shared = r.set > least || r.shared > least && (left || len(all) > 1 && together > r.shared+r.set)
	}
	return charges
}

// chargeMeasured returns the readings without the time that jobs took whose use the driver has measured, and this time.
// In its shared time such a job computes next to the others, and slows them all down alike.
func chargeMeasured(readings []gpuReading, elapsed growth.Seconds) (rest []gpuReading, exact growth.Seconds) {
	rest = slices.Clone(readings)
	var own, shared growth.Seconds
	for _, r := range rest {
		if r.exact {
			own += r.alone
			shared += r.shared
		}
	}
	own = min(own, elapsed)
	free := elapsed - own // by the turns of these jobs
	if shared == 0 || free <= 0 {
		return rest, own
	}
	scale := min(1, free/shared)
	left := growth.Seconds(1) - min(shared, free)/free
	for i := range rest {
		r := &rest[i]
		if r.exact {
			r.shared *= scale
			continue
		}
		r.alone *= left
		r.shared *= left
		r.setWork *= left
		r.setTime *= left
	}
	return rest, own + min(shared, free)
}
