package loop

import (
	"fmt"
	"time"

	"github.com/trellis-gpu/trellis/coordinator/internal/pods"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/efficiency"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// always is for what is worth telling once in a job's life.
const always = 1 << 62

func (l *Loop) podChanged(pod pods.Pod, now time.Time) {
	l.see(pod)
	uid := pod.Ref.UID
	j := l.jobs[uid]
	switch {
	case !pod.Running && j != nil:
		l.leave(j)
	case !pod.Running: // not yet, or no longer
	case j == nil:
		l.arrive(pod, now)
	default:
		before := j.pod
		j.meet(pod)
		j.refusal.Changed = j.refusal.Changed || another(before, pod)
		if pod.Refusal != before.Refusal && pod.Refusal.Reason != "" {
			l.reconcile()
			l.tell(j, time.Minute, true, "Resize"+pod.Refusal.Reason, fmt.Sprintf("kubelet has not made the CPU resize to %s yet: %s", pod.Request(), pod.Refusal.Message))
		}
	}
}

func (l *Loop) arrive(pod pods.Pod, now time.Time) {
	uid := pod.Ref.UID
	wish, err := gpushare.Parse(pod.Annotations)
	if err != nil {
		if l.refused[uid] != err.Error() {
			l.refused[uid] = err.Error()
			l.ports.Diary.Event(pod.Ref, true, "BadAnnotation", err.Error()+". The job runs, but its share is not tuned")
		}
		return
	}
	delete(l.refused, uid)
	j := &job{
		wish: wish, arrived: now, window: window{since: now},
		tracker: efficiency.New(l.config.efficiency(), wish.Direction), category: growth.Progressing, told: map[string]time.Time{},
	}
	j.meet(pod)
	l.jobs[uid] = j
	if _, here := l.past[uid]; !here { // to the node: it may be new to this coordinator only
		l.stir()
	}
	delete(l.ended, uid)
	l.resume(j)
	l.follow(j)
	if pod.Annotations[gpushare.CategoryAnnotation] != string(j.category) {
		l.ports.Diary.Annotate(pod.Ref, gpushare.CategoryAnnotation, string(j.category))
	}
	if !wish.Allows(gpushare.TuneCPU) {
		l.log.Info("a job's CPU is not ours to tune", "job", pod.Ref.String(), "reason", j.fixed())
	} else if pod.Fixed != "" {
		l.tell(j, always, false, "CPUNotTuned", "The CPU share of this job is left alone: "+pod.Fixed)
	}
	l.log.Info("a job has arrived", "job", pod.Ref.String(), "uid", uid, "category", j.category, "progress", wish.Progress.Source)
	l.syncSlots()
	l.deliver(j)
	l.interrupt("arrival", true)
}

func (l *Loop) podGone(uid growth.PodUID) {
	delete(l.refused, uid)
	delete(l.placed, uid)
	delete(l.past, uid)
	delete(l.denied, uid)
	if j := l.jobs[uid]; j != nil {
		l.leave(j)
	}
}

func (l *Loop) leave(j *job) {
	uid := j.pod.Ref.UID
	j.stopText()
	delete(l.jobs, uid)
	l.retire(j)
	if len(l.jobs) == 0 {
		l.remember()
	}
	l.stir()
	l.ended[uid] = true
	l.ports.Records.Forget(uid)
	l.syncSlots()
	l.log.Info("a job has left", "job", j.pod.Ref.String(), "uid", uid, "category", j.category, "step", j.latest.Step)
	l.interrupt("departure", true)
}
