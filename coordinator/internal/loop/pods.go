package loop

import (
	"context"
	"fmt"
	"time"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/jobfile"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/lines"
	"github.com/trellis-gpu/trellis/coordinator/internal/pods"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/efficiency"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/flowcon"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/wire"
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
		j.refusal.Stirred = j.refusal.Stirred || another(before, pod)
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
		tracker: efficiency.New(l.config.Efficiency, wish.Direction), category: growth.Progressing, told: map[string]time.Time{},
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

// resume takes up what an earlier coordinator knew, the bus first, then the pod.
func (l *Loop) resume(j *job) {
	category := growth.Category(j.pod.Annotations[gpushare.CategoryAnnotation])
	memory := efficiency.Memory{Category: category}
	if s, ok := l.past[j.pod.Ref.UID]; ok {
		j.refusal = l.denied[j.pod.Ref.UID]
		delete(l.past, j.pod.Ref.UID)
		delete(l.denied, j.pod.Ref.UID)
		if s.History != nil && s.Metric == j.wish.Metric {
			memory = *s.History
		}
		category = s.Category
		j.share, j.weight = s.Share, float64(s.Share)
		j.latest = wire.Progress{Step: s.Step, Epoch: s.Epoch, TotalSteps: s.TotalSteps}
		j.value, j.reported = s.Value, s.Reported
		j.running = wire.Values{Loaders: s.Loaders, BatchSize: s.BatchSize}
		j.sent, j.applied = s.Generation, s.Applied
		if s.Work != nil {
			l.resumeWork(j, *s.Work)
		}
		l.resumeDuty(j, s.Duty)
		l.resumeTrial(j, s.Trial)
		j.counted = s.Step
		j.odometer = odometer{steps: s.Step, last: j.latest}
		j.odometer.resume(j.curve)
	}
	if !category.Valid() {
		return
	}
	if !memory.Category.Valid() {
		memory.Category = category
	}
	j.tracker = efficiency.Resume(l.config.Efficiency, j.wish.Direction, memory)
	j.category = category
	j.reading = efficiency.Reading{Samples: memory.Samples, Growth: memory.Growth, Category: category}
}

// resumeWork takes up what the job's work was known to be.
func (l *Loop) resumeWork(j *job, w bus.Work) {
	j.cost.resume(w.Start, w.StepCost, w.StepSpread)
	if w.Curve != nil {
		j.curve = *w.Curve
	}
	if w.Fair == nil || l.config.FlowCon.Policy != flowcon.Harmless {
		return
	}
	if account, ok := w.Fair.Accounts[j.pod.Ref.UID]; ok {
		if len(l.fair.Accounts) == 0 {
			l.fair = fairfinish.State{At: w.Fair.At, Accounts: map[growth.PodUID]fairfinish.Account{}}
		}
		l.fair.Accounts[j.pod.Ref.UID] = account
	}
}

// follow begins to read a job's log or file, where that is where its progress is.
func (l *Loop) follow(j *job) {
	var ctx context.Context
	ctx, j.stopText = context.WithCancel(l.ctx)
	ref, from := j.pod.Ref, j.wish.Progress
	sink := textSink{l, ref.UID, from.Source}
	before := growth.Category(j.pod.Annotations[gpushare.CategoryAnnotation]).Valid()
	switch from.Source {
	case gpushare.FromLog:
		go l.ports.Logs.Follow(ctx, ref, j.pod.Trainer().Name, before, lines.NewReader(j.wish.Metric, from.Pattern), sink)
	case gpushare.FromFile:
		file := jobfile.Source{Pod: ref, Container: j.trainer, Path: from.Path, Before: before}
		go l.ports.Files.Follow(ctx, file, lines.NewPlain(j.wish.Metric), sink, sink.failing)
	}
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

// syncSlots opens the sockets of all containers that kubelet has given a slot, and closes those of jobs that ended.
func (l *Loop) syncSlots() {
	wanted := map[string]growth.PodUID{}
	listed := map[growth.PodUID]bool{}
	for _, a := range l.allocations.Values {
		listed[a.Pod.UID] = true
		if l.ended[a.Pod.UID] {
			continue
		}
		for _, c := range a.Containers {
			if c.Slot != "" && (wanted[c.Slot] == "" || l.jobs[a.Pod.UID] != nil) {
				wanted[c.Slot] = a.Pod.UID
			}
		}
	}
	for slot, owner := range l.owners {
		if wanted[slot] != owner { // a new owner gets a socket that knows nothing of the old one
			l.ports.Sockets.Close(slot)
			delete(l.owners, slot)
		}
	}
	for slot, owner := range wanted {
		if err := l.ports.Sockets.Open(l.ctx, slot); err != nil {
			l.log.Debug("a slot is not open yet", "slot", slot, "reason", err)
			continue
		}
		if l.owners[slot] != owner {
			l.owners[slot] = owner
			if j := l.jobs[owner]; j != nil {
				l.deliver(j)
			}
		}
	}
	for uid := range l.ended {
		if !listed[uid] && l.allocations.Synced {
			delete(l.ended, uid)
		}
	}
}

// slots are a job's open ones.
func (l *Loop) slots(uid growth.PodUID) []string {
	var slots []string
	for slot, owner := range l.owners {
		if owner == uid {
			slots = append(slots, slot)
		}
	}
	return slots
}

// textSink posts what a log or a file holds.
type textSink struct {
	loop *Loop
	uid  growth.PodUID
	from gpushare.Source
}

func (s textSink) post(f func(j *job)) {
	s.loop.post(func() {
		if j := s.loop.jobs[s.uid]; j != nil {
			f(j)
		}
	})
}

// Report implements lines.Sink.
func (s textSink) Report(p wire.Progress, counted bool) {
	s.post(func(j *job) {
		if counted {
			p.Step += j.counted
		}
		s.loop.report(j, p, s.from)
	})
}

// Restarted implements lines.Sink.
func (s textSink) Restarted() {
	s.post(func(j *job) {
		j.counted = 0
		j.tracker.Restart()
		s.loop.begunAgain(j, "its container was restarted")
	})
}

func (s textSink) failing(why error) {
	s.post(func(j *job) {
		s.loop.tell(j, time.Minute, true, "ProgressUnreadable", fmt.Sprintf("%s can not be read: %v. Until it is, the job gets its fair part", j.wish.Progress.Path, why))
	})
}
