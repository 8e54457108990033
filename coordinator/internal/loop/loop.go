package loop

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/trellis-gpu/trellis/coordinator/internal/explain"
	"github.com/trellis-gpu/trellis/coordinator/internal/metrics"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/cgroup"
	"github.com/trellis-gpu/trellis/coordinator/internal/pods"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/node"
)

// Loop drives one node's state machine.
type Loop struct {
	interval time.Duration
	metrics  *metrics.Metrics
	log      *slog.Logger
	inbox    chan func()
	done     chan struct{}
	freezes  freezes
	memory   node.Memory

	// The fields below belong to the goroutine of Run.
	ctx       context.Context
	ports     Ports
	node      *node.Node
	usages    map[growth.PodUID]cgroup.Usage // as last read
	followers map[growth.PodUID]*follower
	recalls   map[growth.PodUID]context.CancelFunc // what follows the programs of jobs
	pinned    map[growth.PodUID][]pods.Pinned      // containers that may have cores of their own
	wake      time.Time
	timer     *time.Timer
}

// New returns a loop. Run starts it.
func New(config node.Config, m *metrics.Metrics, log *slog.Logger) *Loop {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return &Loop{
		interval:  config.Interval,
		metrics:   m,
		log:       log,
		inbox:     make(chan func(), 256),
		done:      make(chan struct{}),
		node:      node.New(config),
		usages:    map[growth.PodUID]cgroup.Usage{},
		followers: map[growth.PodUID]*follower{},
		recalls:   map[growth.PodUID]context.CancelFunc{},
		pinned:    map[growth.PodUID][]pods.Pinned{},
		timer:     timer,
	}
}

// Restore sets what an earlier coordinator saved on this node. It must be called before Run.
func (l *Loop) Restore(m node.Memory) { l.memory = m }

// Run steps the node until ctx ends. Shares then stay as they are.
func (l *Loop) Run(ctx context.Context, ports Ports) error {
	defer l.freezes.running.Wait() // so that the caller can thaw all
	defer close(l.done)
	l.ctx, l.ports = ctx, ports
	l.step(node.MemoryRestored{Memory: l.memory})
	ticker := time.NewTicker(l.interval)
	defer ticker.Stop()
	defer l.timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case run := <-l.inbox:
			run()
		case <-ticker.C:
			l.tick()
		case <-l.timer.C:
			l.wake = time.Time{}
			l.step(node.Woken{Usages: l.readUsages(), GPU: l.gpuUse(), Busy: l.gpuBusy()})
			l.setGauges()
		}
	}
}

func (l *Loop) tick() {
	began := time.Now()
	usages := l.readUsages()
	l.readExclusive()
	l.step(node.Ticked{
		Usages:  usages,
		Stalled: node.Stalled(l.ports.Usages.Node()),
		GPU:     l.gpuUse(),
		Busy:    l.gpuBusy(),
	})
	l.setGauges()
	l.metrics.Decision.Observe(time.Since(began).Seconds())
}

// step steps the node and executes the effects.
func (l *Loop) step(e node.Event) { l.execute(l.node.Step(time.Now(), e)) }

// post runs f in the goroutine of Run. It waits while the inbox is full, which delays only the caller.
func (l *Loop) post(f func()) {
	select {
	case l.inbox <- f:
	case <-l.done:
	}
}

// PodUpdated receives the current state of a pod of this node that asks for a share.
func (l *Loop) PodUpdated(pod node.Pod) {
	if pod.Ended() || !pod.Running {
		l.drain(pod.Ref.UID)
	}
	l.post(func() {
		l.step(node.PodUpdated{Pod: pod})
		if f := l.followers[pod.Ref.UID]; f != nil {
			f.setContainer(pod.Trainer().ID)
		}
	})
}

// PodDeleted receives the UID of a pod that no longer exists.
func (l *Loop) PodDeleted(pod growth.PodUID) {
	l.drain(pod)
	l.post(func() { l.step(node.PodDeleted{Pod: pod}) })
}

// Capacity receives the allocatable CPU of the node.
func (l *Loop) Capacity(cpu growth.MilliCPU) {
	l.post(func() { l.step(node.CapacityChanged{CPU: cpu}) })
}

// PodAccounted receives what a pod of any kind takes of the node's CPU.
func (l *Loop) PodAccounted(pod growth.PodUID, account pods.Account) {
	l.post(func() {
		l.step(node.PodAccounted{Pod: pod, CPU: account.CPU})
		delete(l.pinned, pod)
		if len(account.Pinned) > 0 {
			l.pinned[pod] = account.Pinned
		}
	})
}

// Alive returns an error unless the loop is still running.
func (l *Loop) Alive(ctx context.Context) error {
	answer := make(chan struct{})
	go l.post(func() { close(answer) })
	select {
	case <-answer:
		return nil
	case <-l.done:
		return errors.New("the loop has ended")
	case <-ctx.Done():
		return errors.New("the loop does not answer")
	}
}

// Explain explains the share of a pod, given as namespace/name.
func (l *Loop) Explain(ctx context.Context, pod string) (node.Explanation, error) {
	answer := make(chan node.Explanation, 1)
	unknown := make(chan struct{})
	go l.post(func() {
		e, ok := l.node.Explain(pod)
		if !ok {
			close(unknown)
			return
		}
		if e.GPU != nil && len(e.GPU.Turns) > 0 && l.ports.Turns != nil {
			e.GPU.Order(l.ports.Turns.Order(e.GPU.Turns[0].Pod.UID)) // the first is the job itself
		}
		answer <- e
	})
	select {
	case e := <-answer:
		return e, nil
	case <-unknown:
		return node.Explanation{}, explain.ErrNoJob
	case <-l.done:
		return node.Explanation{}, errors.New("the loop has ended")
	case <-ctx.Done():
		return node.Explanation{}, ctx.Err()
	}
}
