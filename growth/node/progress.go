package node

import (
	"cmp"
	"fmt"
	"time"

	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/halt"
	"github.com/trellis-gpu/trellis/growth/wire"
)

func (e ProgressReported) apply(n *Node) {
	j := n.jobs[e.Pod]
	if e.Slot != "" {
		j = n.jobOf(e.Slot)
	}
	if j == nil {
		return
	}
	j.lifetime.counted = e.Counted
	if e.Counted {
		e.Progress.Step += j.stepOffset
	}
	loadersKnown := j.running.Loaders != nil
	n.report(j, e)
	if !loadersKnown && j.running.Loaders != nil {
		n.publish(j, true) // the tuner must reduce excess workers at once: a short job ends soon
	}
}

func (e ProcessReported) apply(n *Node) {
	for _, p := range e.Reports {
		ProgressReported{Slot: e.Slot, Connection: e.Connection, Source: gpushare.FromSocket, Progress: p}.apply(n)
	}
}

// report evaluates a progress report. Rates use reports of every source. Step and metric come only from the source that
// the user has specified.
func (n *Node) report(j *job, e ProgressReported) {
	p := e.Progress
	n.out.Counts.Reports++
	j.window.add(p)
	if e.Source == gpushare.FromSocket {
		n.seeForStop(j, e)
		j.settings.add(e)
		j.batch.add(j.settings.comparedOnce(e))
		j.running = j.settings.running(j.running, j.sentConfig)
	}
	if e.Source != j.spec.Progress.Source {
		return
	}
	moves := j.processes.follow(e, j.counter.last, n.now)
	j.latest.TotalSteps = cmp.Or(p.TotalSteps, j.latest.TotalSteps)
	if moves {
		p.TotalSteps = j.latest.TotalSteps
		j.latest = p
		before := j.counter.steps
		j.counter.add(p)
		if j.counter.steps != before {
			j.stepped = n.now
		}
	}
	value, ok := p.Metrics.Get(j.spec.Metric)
	if ok && !j.processes.speaks(e, moves) {
		return
	}
	if !ok {
		n.metricMissing(j, p)
		return
	}
	if !j.lastValue.repeats(p, value) {
		n.evaluate(j, value)
	}
}

// comparedOnce returns a report without its gradients, unless its process is the one whose gradients count: of those that
// compare them, the one with the lowest rank. Ranks average their gradients, so all of them report the same comparison.
func (s *settings) comparedOnce(e ProgressReported) wire.Progress {
	p, own := e.Progress, keyOf(e)
	if p.Gradients == nil {
		return p
	}
	for key, m := range s.all {
		if m.compares && cmp.Or(cmp.Compare(m.rank, rankOf(p.Process)), key.compare(own)) < 0 {
			p.Gradients = nil
		}
	}
	return p
}

func (e ContainerRestarted) apply(n *Node) {
	if j := n.jobs[e.Pod]; j != nil {
		j.stepOffset = 0
		j.processes = processes{startsAgain: true}
		j.settings = settings{}
		j.lastValue = lastValue{}
		n.awaitValue(j, "its container was restarted")
	}
}

func (e ProcessLeft) apply(n *Node) {
	if j := n.jobOf(e.Slot); j != nil {
		j.halt().Left(halt.Process{Slot: e.Slot, Connection: e.Connection})
		j.processes.leave(e.Slot, e.Connection)
		j.settings.leave(e.Slot, e.Connection)
		n.followSave(j)
	}
}

// restart gives a restarted job the weight of a new one and discards its curve.
func (n *Node) restart(j *job, why string) {
	j.weight, j.arrived, j.restarted = 1, n.now, true
	j.curve.Reset()
	j.recheckTarget()
	n.log(Info, "job restarted", "job", j.pod.Ref, "reason", why)
	n.event(j, time.Minute, false, "JobRestarted", fmt.Sprintf("The job starts over: %s. Its growth is learned again", why))
}

func (e LinesRejected) apply(n *Node) {
	j := n.jobOf(e.Slot)
	if j == nil {
		return
	}
	switch {
	case e.Closed:
		n.event(j, time.Minute, true, "BadLines",
			fmt.Sprintf("The job's connection was closed: it sent too many invalid lines, the last one: %s", e.Err))
	case e.Malformed > 0:
		n.event(j, time.Minute, true, "BadLines",
			fmt.Sprintf("The job sent %d invalid lines, the last one: %s", e.Malformed, e.Err))
	case e.Dropped > 0:
		n.event(j, time.Minute, true, "TooManyLines", fmt.Sprintf("The job reports too often: %d lines were dropped", e.Dropped))
	}
}
