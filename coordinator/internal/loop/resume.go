package loop

import (
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/efficiency"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/policy"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// resume takes up what an earlier coordinator knew, the bus first, then the pod.
func (l *Loop) resume(j *job) {
	category := growth.Category(j.pod.Annotations[gpushare.CategoryAnnotation])
	memory := efficiency.State{Category: category}
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
	j.tracker = efficiency.Resume(l.config.efficiency(), j.wish.Direction, memory)
	j.category = category
	j.reading = efficiency.Reading{Samples: memory.Samples, Growth: memory.Growth, Category: category}
}

// resumeWork takes up what the job's work was known to be.
func (l *Loop) resumeWork(j *job, w bus.Work) {
	j.cost.resume(w.Start, w.StepCost, w.StepSpread)
	if w.Curve != nil {
		j.curve = *w.Curve
	}
	if w.Fair == nil || l.config.Policy != policy.Harmless {
		return
	}
	if account, ok := w.Fair.Accounts[j.pod.Ref.UID]; ok {
		if len(l.fair.Accounts) == 0 {
			l.fair = fairfinish.State{At: w.Fair.At, Accounts: map[growth.PodUID]fairfinish.Account{}}
		}
		l.fair.Accounts[j.pod.Ref.UID] = account
	}
}
