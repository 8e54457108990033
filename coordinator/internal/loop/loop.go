package loop

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/coordinator/internal/enforce"
	"github.com/trellis-gpu/trellis/coordinator/internal/metrics"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/cgroup"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/socket"
	"github.com/trellis-gpu/trellis/coordinator/internal/pods"
	"github.com/trellis-gpu/trellis/coordinator/internal/recall"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/resize"
)

// settle is how long an interruption waits for others: pods come in groups.
const settle = 300 * time.Millisecond

// Loop is one node's coordinator.
type Loop struct {
	config  Config
	ports   Ports
	metrics *metrics.Metrics
	log     *slog.Logger
	inbox   chan func()
	done    chan struct{}

	// What follows belongs to Run's goroutine.
	ctx         context.Context
	jobs        map[growth.PodUID]*job
	placed      map[growth.PodUID]*placed
	refused     map[growth.PodUID]string // why a pod's annotations were
	allocations *bus.View[bus.Allocation]
	owners      map[string]growth.PodUID // of open slots
	ended       map[growth.PodUID]bool
	retired     []recall.Run // of ended jobs, those from which others may be foretold
	past        map[growth.PodUID]bus.Sample
	denied      map[growth.PodUID]resize.Refusal // of jobs in past
	advice      *bus.View[bus.Advice]
	allocatable growth.MilliCPU // what the node gives to pods; 0 while unknown
	pool        growth.MilliCPU
	fair        fairfinish.State
	stalled     cgroup.Stalled // the node, as last read
	stalledAt   time.Time
	pressure    *bus.Pressure
	interval    time.Duration
	due         time.Time
	interrupted string // why a decision can not wait; empty while it can
	rearrange   bool   // the set of jobs has changed, not only a category
	soon        *time.Timer
}

// New returns a loop; Run makes it go round.
func New(config Config, m *metrics.Metrics, log *slog.Logger) *Loop {
	soon := time.NewTimer(time.Hour)
	soon.Stop()
	return &Loop{
		config: config, metrics: m, log: log, inbox: make(chan func(), 256), done: make(chan struct{}),
		jobs: map[growth.PodUID]*job{}, placed: map[growth.PodUID]*placed{}, refused: map[growth.PodUID]string{}, owners: map[string]growth.PodUID{},
		ended: map[growth.PodUID]bool{}, past: map[growth.PodUID]bus.Sample{},
		allocations: &bus.View[bus.Allocation]{}, advice: &bus.View[bus.Advice]{}, interval: config.Interval, soon: soon,
	}
}

// Run goes round until ctx ends. Shares stay as they are when it does.
func (l *Loop) Run(ctx context.Context, ports Ports) error {
	defer close(l.done)
	l.ctx, l.ports = ctx, ports
	ticker := time.NewTicker(l.config.Interval)
	defer ticker.Stop()
	defer l.soon.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case happened := <-l.inbox:
			happened()
		case <-ticker.C:
			l.tick(time.Now())
		case <-l.soon.C:
			l.decide(time.Now())
			l.publish()
		}
	}
}

// post has f run in the loop's goroutine. It waits while the inbox is full, which holds up only who posts.
func (l *Loop) post(f func()) {
	select {
	case l.inbox <- f:
	case <-l.done:
	}
}

// PodChanged tells of a pod of this node that asks for a share, as it is now.
func (l *Loop) PodChanged(pod pods.Pod) { l.post(func() { l.podChanged(pod, time.Now()) }) }

// PodGone tells that a pod no longer exists.
func (l *Loop) PodGone(pod growth.PodUID) { l.post(func() { l.podGone(pod) }) }

// Socket tells what happened on a slot's socket.
func (l *Loop) Socket(slot string, e socket.Event) { l.post(func() { l.socket(slot, e) }) }

// Resized tells what became of a resize.
func (l *Loop) Resized(r enforce.Result) { l.post(func() { l.resized(r) }) }

// Allocatable tells how much CPU the node can give to pods.
func (l *Loop) Allocatable(cpu growth.MilliCPU) {
	l.post(func() {
		if cpu != l.allocatable && l.allocatable != 0 { // the first word is no change
			l.stir()
		}
		l.allocatable = cpu
		l.publishLoad()
	})
}

// Alive tells whether the loop still goes round.
func (l *Loop) Alive(ctx context.Context) error {
	answer := make(chan struct{})
	go l.post(func() { close(answer) })
	select {
	case <-answer:
		return nil
	case <-l.done:
		return errors.New("the loop has ended")
	case <-ctx.Done():
		return errors.New("the loop does not go round any more")
	}
}

// interrupt asks for a decision soon.
func (l *Loop) interrupt(why string, rearranged bool) {
	if l.interrupted == "" {
		l.soon.Reset(settle)
	}
	l.interrupted, l.rearrange = why, l.rearrange || rearranged
}

// sorted returns the jobs in a stable order.
func (l *Loop) sorted() []*job {
	jobs := make([]*job, 0, len(l.jobs))
	for _, uid := range slices.Sorted(maps.Keys(l.jobs)) {
		jobs = append(jobs, l.jobs[uid])
	}
	return jobs
}

// tell tells people something about a job, the same thing at most once in every.
func (l *Loop) tell(j *job, every time.Duration, warning bool, reason, message string) {
	now := time.Now()
	if last, ok := j.told[reason]; ok && now.Sub(last) < every {
		return
	}
	j.told[reason] = now
	l.ports.Diary.Event(j.pod.Ref, warning, reason, message)
}
