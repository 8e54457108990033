package node

import (
	"fmt"
	"math"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

const (
	// A share of a GPU's time has changed noticeably if it differs by at least noticeableTime and by the factor
	// noticeableRatio.
	noticeableTime growth.Share = 0.05
	// gpuEventPeriod is the minimum time between two events about the GPU time of one job.
	gpuEventPeriod = shareEventPeriod
)

// gpuReport collects the changes of a job's share of its GPUs' time since the last event about them.
type gpuReport struct {
	since   time.Time // time of the last event; zero if there was none
	from    growth.Share
	changes int
	seen    GPUUse
}

// resume starts a report for a job whose first turns an earlier coordinator has announced.
func (r *gpuReport) resume(share growth.Share, now time.Time) {
	r.since, r.from = now, share
}

// unpausable returns why a job cannot be paused. It is empty for a job that can.
func (n *Node) unpausable(j gpuJob) string {
	lead := j.leader()
	switch {
	case !lead.spec.Allows(gpushare.TuneGPUTime):
		return "its user does not list gpu-time in " + gpushare.TuneAnnotation
	case n.spans(j):
		return lacking(j)
	case !j.gpu.gated.IsZero() && n.now.Sub(j.gpu.gated) < connectTime:
		return ""
	case n.freezes(j) != "":
		return ""
	case lead.spec.Progress.Source != gpushare.FromSocket:
		return "only the shim (import gpushare) can pause a job, between two steps, and the job does not use it"
	case n.connecting(j):
		return ""
	}
	return "its shim is not connected for turns: it is of an earlier release, or the job does not call gpushare.step"
}

// lacking returns why a job cannot be paused of which processes do not report. Only a pod that is a job of its own surely
// has them; for other jobs they may be in pods on nodes that this one does not see.
func lacking(j gpuJob) string {
	calls, all := 0, 0
	for _, pod := range j.pods {
		calls += len(pod.settings.all)
		all = max(all, pod.settings.worldSize())
	}
	where, others := " on this node", "run on other nodes or do not call it"
	if lead := j.leader(); lead.spanning() == "" && !lead.pod.Distributed {
		where, others = "", "do not call it"
	}
	return fmt.Sprintf("gpushare.step is called in %d of its %d processes%s: the others %s, and would wait for the paused ones",
		calls, all, where, others)
}

// reportGroup records what a decision means for the users of a group's jobs.
func (n *Node) reportGroup(g gpuGroup) {
	for _, j := range g.jobs {
		n.reportGPU(g, j)
		n.reportSet(g, j)
		if g.because != "" && n.now.Sub(j.arrived) > silentAfter*n.config.Interval {
			n.announcePlain(g, j)
		}
		if g.turns && j.always > 0 {
			n.announceAlways(j)
		}
	}
}

// reportGPU records an event about a job's first turns at once. Later changes are summarised by summariseGPUTime.
func (n *Node) reportGPU(g gpuGroup, j gpuJob) {
	t := &j.gpu
	was := t.paused
	t.paused = g.turns && j.always == 0
	now := t.part
	if !t.report.since.IsZero() {
		if was != t.paused || math.Abs(float64(now-t.report.from)) >= float64(noticeableTime) {
			t.report.changes++
		}
		return
	}
	if !t.paused || math.Abs(float64(now-t.plain)) < float64(noticeableTime) {
		return
	}
	t.report = gpuReport{since: n.now, from: now, seen: t.seen}
	n.event(j.job, 0, false, "GPUTimeChanged",
		fmt.Sprintf("The job computes %s of the time of %s, in turns with %s: %s. Between its turns it waits at the end of a step",
			now, gpuNames(j.gpus), others(len(g.sharers(j))), t.lastReason()))
}

// summariseGPUTime records an event about the changes of the last period, if there are noticeable ones.
func (n *Node) summariseGPUTime() {
	for _, g := range n.groups {
		for _, j := range g.jobs {
			t := &j.gpu
			r := t.report
			now := t.part
			if n.jobs[j.pod.Ref.UID] != j.job || r.changes == 0 || n.now.Sub(r.since) < gpuEventPeriod || !noticeablyDiffers(r.from, now) {
				continue
			}
			message := fmt.Sprintf("The job computes %s of the time of %s, %s before. Since %s UTC it has computed %.0f s and waited %.0f s for its turn",
				now, gpuNames(j.gpus), r.from, r.since.UTC().Format("15:04"),
				max(0, float64(t.seen.Held-r.seen.Held)), max(0, float64(t.seen.Waited-r.seen.Waited)))
			t.report = gpuReport{since: n.now, from: now, seen: t.seen}
			n.event(j.job, 0, false, "GPUTimeChanged", message+". The last decision: "+t.lastReason())
		}
	}
}

// announcePlain records once why the time of a job's GPUs is not divided.
func (n *Node) announcePlain(g gpuGroup, j gpuJob) {
	if len(g.sharers(j)) == 0 {
		return
	}
	n.announceCores(j.job, "the time of its GPU is not divided. "+g.because)
	n.event(j.job, oncePerJob, false, "GPUTimeNotDivided",
		fmt.Sprintf("The time of %s is not divided by growth: all jobs there compute at the same time, as without Trellis. %s",
			gpuNames(j.gpus), g.because))
}

// reportOverdue records an event about a job that did not stop in time after its turn since the last reading.
func (n *Node) reportOverdue(j gpuJob, use GPUUse) {
	if use.Overdue <= j.gpu.seen.Overdue {
		return
	}
	n.event(j.job, gpuEventPeriod, true, "TurnOverdue",
		fmt.Sprintf("The job did not stop in time after its turn on %s (%d times so far): the other jobs did not wait any longer, and "+
			"computed at the same time. Usual causes are a compilation, a step of several seconds, or long work between two steps",
			gpuNames(j.gpus), use.Overdue))
}

// lastReason returns the reason of the last decision about the job's GPU time.
func (t *gpuTime) lastReason() string {
	if last := len(t.decisions) - 1; last >= 0 {
		return t.decisions[last].Reason
	}
	return "no decision"
}

// noticeablyDiffers reports whether a user would care about a change of a share of time.
func noticeablyDiffers(from, to growth.Share) bool {
	return math.Abs(float64(to-from)) >= float64(noticeableTime) &&
		float64(max(from, to)) >= noticeableRatio*float64(min(from, to))
}

func others(count int) string {
	if count == 1 {
		return "1 other job"
	}
	return fmt.Sprintf("%d other jobs", count)
}
