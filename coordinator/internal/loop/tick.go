package loop

import (
	"fmt"
	"time"

	"github.com/trellis-gpu/trellis/coordinator/internal/metrics"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/efficiency"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/loader"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// tick is one round: observe, classify, decide where it is time, enforce what is not yet so, publish.
func (l *Loop) tick(now time.Time) {
	began := time.Now()
	for _, j := range l.sorted() {
		l.observe(j, now)
		l.classify(j, now)
	}
	l.learn()
	l.watchNode(now)
	l.syncSlots()
	if l.interrupted != "" || !now.Before(l.due.Add(-settle)) { // two ticks are seldom an interval apart to the millisecond
		l.decide(now)
	} else {
		l.reconcile()
	}
	l.publish()
	l.metrics.Decision.Observe(time.Since(began).Seconds())
}

func (l *Loop) observe(j *job, now time.Time) {
	look := j.look(now)
	j.rates = j.window.close(now, j.rates)
	l.try(j, look)
	usage, err := l.ports.Usages.Usage(j.pod.Ref.UID, now)
	if err != nil {
		l.log.Debug("a job's use is not known", "job", j.pod.Ref.String(), "reason", err)
		return
	}
	j.observe(usage, now)
}

// meter reads what a job has used up to now, and for how long it has waited for it.
func (l *Loop) meter(j *job, now time.Time) {
	if usage, err := l.ports.Usages.Usage(j.pod.Ref.UID, now); err == nil && usage.CPUKnown {
		j.usage.CPU, j.usage.CPUKnown = usage.CPU, true
		j.usage.Queued, j.usage.QueuedKnown = usage.Queued, usage.QueuedKnown
	}
}

// learn takes in what the interval has shown of what every job's steps cost.
func (l *Loop) learn() {
	for _, j := range l.jobs {
		if j.usage.CPUKnown {
			j.cost.note(j.odometer.steps, j.usage.CPU)
		}
		if j.cost.bare() {
			l.suppose(j)
		}
	}
}

func (l *Loop) classify(j *job, now time.Time) {
	usage := efficiency.Usage{
		CoreSeconds: j.usage.CPU, Known: j.usage.CPUKnown, Memory: j.usage.Memory, BlockIO: j.usage.BlockIO, NetworkIO: j.usage.NetworkIO,
	}
	j.reading = j.tracker.Tick(now, usage)
	l.log.Debug("classified", "job", j.pod.Ref.String(), "growth", float64(j.reading.Growth), "category", j.reading.Category,
		"samples", j.reading.Samples, "reason", j.reading.Reason)
	if l.config.Policy != policy.FlowConLiteral { // which keeps lists of its own
		l.categorise(j, j.reading.Category, j.reading.Reason)
	}
}

// categorise notes a job's category and tells of a change.
func (l *Loop) categorise(j *job, category growth.Category, reason string) {
	if category == j.category {
		return
	}
	from := j.category
	j.category = category
	l.log.Info("category changed", "job", j.pod.Ref.String(), "from", from, "to", category, "growth", float64(j.reading.Growth),
		"metric", j.wish.Metric, "value", j.value, "step", j.latest.Step, "reason", reason)
	l.ports.Diary.Annotate(j.pod.Ref, gpushare.CategoryAnnotation, string(category))
	l.tell(j, time.Second, false, "CategoryChanged", fmt.Sprintf("%s → %s: %s (%s %.4g at step %d)", from, category, reason, j.wish.Metric, j.value, j.latest.Step))
	l.interrupt("category", false)
}

// watchNode reads how much the whole node waits.
func (l *Loop) watchNode(now time.Time) {
	stalled := l.ports.Usages.Node()
	if !l.stalledAt.IsZero() {
		l.pressure = pressure(l.stalled, stalled, now.Sub(l.stalledAt).Seconds())
	}
	l.stalled, l.stalledAt = stalled, now
}

// publish tells the bus about every job and the node.
func (l *Loop) publish() {
	counts := map[growth.Category]int{}
	uses := make([]metrics.Use, 0, len(l.jobs))
	for _, j := range l.sorted() {
		counts[j.category]++
		uses = append(uses, metrics.Use{Pod: j.pod.Ref, Usage: j.usage})
		l.publishJob(j)
	}
	l.metrics.Jobs(counts)
	l.metrics.Used(uses)
	l.publishLoad()
	l.keep()
}

func (l *Loop) publishJob(j *job) { l.ports.Records.Sample(l.sample(j)) }

func (l *Loop) sample(j *job) bus.Sample { return j.sample(l.gpus(j.pod.Ref.UID), l.fair) }

func (l *Loop) publishLoad() {
	if l.allocatable == 0 {
		return // a budget that is not known yet is better not told
	}
	var used growth.MilliCPU
	processes := 0
	for uid, j := range l.jobs {
		used += j.used
		processes += max(1, len(l.gpus(uid)))
	}
	l.ports.Records.Load(bus.NodeLoad{
		CPUPool: l.pool, CPUUsed: used, Pressure: l.pressure, LoaderBudget: loader.Budget(l.allocatable, processes),
		Policy: string(l.config.Policy),
	})
}
