package model

import (
	"context"
	"iter"
	"log/slog"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/reconcile"
	"github.com/trellis-gpu/trellis/extender/internal/reservations"
	"github.com/trellis-gpu/trellis/extender/internal/scheduler"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/placement"
)

var ctx = context.Background()

// replica is one process of the extender, and what its watches have not delivered yet.
type replica struct {
	w       *world
	keeper  *cache.Keeper
	held    *reservations.Held
	decider *scheduler.Decider
	sweeper *reconcile.Sweeper

	busQueue []queued[bus.Batch]
	podQueue []queued[news]
	known    map[growth.PodUID]*corev1.Pod // as delivered
}

type queued[T any] struct {
	what T
	at   time.Duration
}

type news struct {
	pod     *corev1.Pod
	present bool
}

// start begins with nothing in memory and lists everything, as a new process does.
func (r *replica) start() {
	quiet := slog.New(slog.DiscardHandler)
	r.keeper, r.held = cache.NewKeeper(nil, gpushare.Resource, quiet), &reservations.Held{}
	books := reservations.Ledger{Bus: wire{r.w}, Unbalanced: func() { r.w.breaks("a reservation that would not balance got as far as the ledger") }}
	r.decider = &scheduler.Decider{
		View: r.keeper, Policy: placement.Binpack{}, PolicyName: "binpack", Ledger: books, Held: r.held, API: api{r.w},
		Resource: gpushare.Resource, Log: quiet, Conflicted: func() {},
	}
	r.sweeper = &reconcile.Sweeper{
		View: r.keeper, Ledger: books, Reserver: r.decider, Held: r.held, Pods: api{r.w}, Log: quiet, Repaired: func(string) {},
		Mismatched:  func(string) {},
		ForgetAfter: 1, // as early as can be
	}
	r.busQueue, r.podQueue, r.known = nil, nil, map[growth.PodUID]*corev1.Pod{}
	for _, k := range r.w.kubes {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: string(k.node), Labels: map[string]string{gpushare.NodeLabel: "true"}}}
		r.keeper.Step(cache.OnNode(node, true))
	}
	r.relistPods()
	r.keeper.Step(cache.Informed())
	r.keeper.Step(cache.OnJobs(bus.Batch{Reset: true}))
	r.queueBus(r.w.away)
	for len(r.busQueue) > 0 {
		r.nextBatch(false)
	}
}

func (r *replica) relistPods() {
	r.podQueue = nil
	for _, name := range sortedKeys(r.w.api.pods) {
		r.hear(news{r.w.api.pods[name], true})
	}
	for uid, pod := range r.known {
		if now, there := r.w.api.pods[pod.Name]; !there || growth.PodUID(now.UID) != uid {
			r.hear(news{pod, false})
		}
	}
}

func (r *replica) hear(n news) {
	uid := growth.PodUID(n.pod.UID)
	if r.known[uid] = n.pod; !n.present {
		delete(r.known, uid)
	}
	r.keeper.Step(cache.OnPod(n.pod, n.present))
}

func (r *replica) queueBatch(b bus.Batch) {
	r.busQueue = append(r.busQueue, queued[bus.Batch]{b, r.w.now})
}
func (r *replica) queuePod(pod *corev1.Pod, present bool) {
	r.podQueue = append(r.podQueue, queued[news]{news{pod, present}, r.w.now})
}

// queueBus has the watch on the bus break, or begin again.
func (r *replica) queueBus(away bool) {
	if away {
		r.queueBatch(bus.Batch{Err: bus.ErrUnavailable})
		return
	}
	entries, revision, err := r.w.bus.List(ctx, bus.Nodes)
	if err != nil {
		panic(err)
	}
	r.busQueue = nil
	r.queueBatch(bus.Batch{Reset: true, Revision: revision, Entries: entries})
}

// nextBatch delivers what comes next from the bus; it comes again if it is to be repeated.
func (r *replica) nextBatch(repeated bool) {
	batch := r.busQueue[0].what
	if !repeated {
		r.busQueue = r.busQueue[1:]
	}
	if r.w.faults.doubled {
		batch = doubled(batch)
	}
	r.keeper.Step(cache.OnNodes(batch))
}

// nextNews delivers the n-th piece of news of pods, but nothing of a pod after its end.
func (r *replica) nextNews(n int) {
	n %= len(r.podQueue)
	for _, before := range r.podQueue[:n] {
		if before.what.pod.UID == r.podQueue[n].what.pod.UID && !r.podQueue[n].what.present {
			n = 0
			break
		}
	}
	what := r.podQueue[n].what
	r.podQueue = slices.Delete(r.podQueue, n, n+1)
	r.hear(what)
}

// catchUp delivers all that happened until then.
func (r *replica) catchUp(until time.Duration) {
	for len(r.busQueue) > 0 && r.busQueue[0].at <= until {
		r.nextBatch(false)
	}
	for len(r.podQueue) > 0 && r.podQueue[0].at <= until {
		r.nextNews(0)
	}
}

func (w *world) one(a int) *replica { return w.replicas[a%len(w.replicas)] }

func (w *world) hears(a, b, _ int) {
	if r := w.one(a); len(r.busQueue) > 0 {
		r.nextBatch(b%8 == 0)
	}
}

func (w *world) news(a, b, c int) {
	r := w.one(a)
	if len(r.podQueue) == 0 {
		return
	}
	if b%4 != 0 {
		c = 0
	}
	r.nextNews(c)
}

func (w *world) relist(a, b, _ int) {
	switch r := w.one(a); {
	case b%2 == 0:
		r.relistPods()
	case !w.away:
		r.queueBus(false)
	}
}

// crash ends a replica between two of its calls, and starts it again.
func (w *world) crash(a, _, _ int) {
	r := w.one(a)
	for _, work := range slices.Clone(w.work) {
		if work.of == r {
			work.kill()
		}
	}
	r.start()
}

func (w *world) bind(a, b, c int) {
	r := w.one(a)
	pod, ok := w.some(b, unbound)
	if !ok || len(w.work) > 6 {
		return
	}
	nodes := make([]string, len(w.kubes))
	for i, k := range w.kubes {
		nodes[i] = string(k.node)
	}
	found, err := r.decider.Filter(w.api.pods[pod.Ref.Name], nodes)
	fit := found.Fit()
	if err != nil || len(fit) == 0 {
		return
	}
	node := growth.NodeName(fit[c%len(fit)])
	w.begin(r, patience, func() {
		err := r.decider.Bind(ctx, pod.Ref, node)
		now, there := w.api.pods[pod.Ref.Name]
		if err == nil && there && now.Spec.NodeName != string(node) {
			w.breaks("bind: %s is said to be bound to %s and is on %q", pod.Ref, node, now.Spec.NodeName)
		}
	})
}

func (w *world) sweep(a, _, _ int) {
	r := w.one(a)
	if slices.ContainsFunc(w.work, func(k *work) bool { return k.of == r && k.sweeps }) {
		return // it has one goroutine for that
	}
	w.begin(r, time.Hour, func() { r.sweeper.Once(ctx) }).sweeps = true
}

// Outcomes of a call.
const (
	good        = iota
	lost        // it was made, its answer did not arrive
	refusedCall // it was not made
	late        // it was not made, and the caller's time is up
)

// call lets one coroutine make its next call.
func (w *world) call(a, b, _ int) {
	if len(w.work) == 0 {
		return
	}
	outcome := good
	switch b % 16 {
	case 1:
		outcome = lost
	case 2:
		outcome = refusedCall
	}
	w.work[a%len(w.work)].resume(outcome)
}

// work is a coroutine: something that a replica does, stopped before its next call.
type work struct {
	w       *world
	of      *replica
	until   time.Duration
	sweeps  bool
	done    bool
	outcome int
	next    func() (struct{}, bool)
	end     func()
	yield   func(struct{}) bool
}

// crashed unwinds a coroutine whose process has died.
type crashed struct{}

func (w *world) begin(r *replica, within time.Duration, do func()) *work {
	k := &work{w: w, of: r, until: w.now + within}
	k.next, k.end = iter.Pull(func(yield func(struct{}) bool) {
		defer func() {
			if cause := recover(); cause != nil && cause != (crashed{}) {
				panic(cause)
			}
		}()
		k.yield = yield
		do()
	})
	w.work = append(w.work, k)
	k.resume(good) // to its first call
	return k
}

func (k *work) resume(outcome int) {
	if k.done {
		return
	}
	k.outcome, k.w.running = outcome, k
	_, more := k.next()
	k.w.running = nil
	if !more {
		k.finish()
	}
}

func (k *work) kill() {
	if !k.done {
		k.end()
		k.finish()
	}
}

func (k *work) finish() {
	k.done = true
	k.w.work = slices.DeleteFunc(k.w.work, func(other *work) bool { return other == k })
}

// stop waits before a call until the driver lets it be made.
func (w *world) stop(call func() error, fails func(outcome int) error) error {
	k := w.running
	if !k.yield(struct{}{}) {
		panic(crashed{})
	}
	switch k.outcome {
	case good:
		return call()
	case lost:
		_ = call()
	}
	return fails(k.outcome)
}

// wire is what a replica has of the bus.
type wire struct{ w *world }

func (x wire) fails(outcome int) error {
	if outcome == late {
		return context.DeadlineExceeded
	}
	// Nobody knows what has become of it: which is what decisions in memory are for.
	return bus.ErrUnavailable
}

func (x wire) List(_ context.Context, prefix string) (entries []bus.Entry, revision bus.Revision, err error) {
	err = x.w.stop(func() error { entries, revision, err = x.w.bus.List(ctx, prefix); return err }, x.fails)
	return entries, revision, err
}

func (x wire) Commit(_ context.Context, writes []bus.Write, guards ...bus.Guard) (revision bus.Revision, err error) {
	writes, guards = x.w.faults.commit(writes, guards)
	err = x.w.stop(func() error { revision, err = x.w.bus.Commit(ctx, writes, guards...); return err }, x.fails)
	return revision, err
}

func (x wire) Delete(_ context.Context, key string, guards ...bus.Guard) error {
	return x.w.stop(func() error { return x.w.bus.Delete(ctx, key, guards...) }, x.fails)
}
