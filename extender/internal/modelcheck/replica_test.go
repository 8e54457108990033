package modelcheck

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

// replica is one process of the extender, and the events that its watches have not delivered yet.
type replica struct {
	h          *harness
	cache      *cache.Cache
	assumed    *reservations.Assumed
	scheduler  *scheduler.Scheduler
	reconciler *reconcile.Reconciler

	busQueue []queued[bus.Batch]
	podQueue []queued[podEvent]
	known    map[growth.PodUID]*corev1.Pod // delivered
}

type queued[T any] struct {
	event T
	at    time.Duration
}

type podEvent struct {
	pod     *corev1.Pod
	present bool
}

// start starts with an empty memory and lists everything, as a new process does.
func (r *replica) start() {
	quiet := slog.New(slog.DiscardHandler)
	r.cache, r.assumed = cache.New(nil, gpushare.Resource, quiet), &reservations.Assumed{}
	store := reservations.Store{Bus: busClient{r.h}, OverCommitted: func() {
		r.h.fail("a reservation that would over-commit a GPU reached the store")
	}}
	r.scheduler = &scheduler.Scheduler{
		Cache:      r.cache,
		Policy:     placement.Binpack{},
		PolicyName: "binpack",
		Store:      store,
		Assumed:    r.assumed,
		API:        apiClient{r.h},
		Resource:   gpushare.Resource,
		Log:        quiet,
		OnConflict: func() {},
	}
	r.reconciler = &reconcile.Reconciler{
		Cache:       r.cache,
		Store:       store,
		Reserver:    r.scheduler,
		Assumed:     r.assumed,
		Pods:        apiClient{r.h},
		Log:         quiet,
		Repaired:    func(string) {},
		Mismatched:  func(string) {},
		ForgetAfter: 1, // as early as possible
	}
	r.busQueue, r.podQueue, r.known = nil, nil, map[growth.PodUID]*corev1.Pod{}
	for _, k := range r.h.kubelets {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: string(k.node), Labels: map[string]string{gpushare.NodeLabel: "true"}}}
		r.cache.Step(cache.OnNode(node, true))
	}
	r.relistPods()
	r.cache.Step(cache.Informed())
	r.cache.Step(cache.OnJobs(bus.Batch{Reset: true}))
	r.restartBusWatch(r.h.busDown)
	for len(r.busQueue) > 0 {
		r.nextBatch(false)
	}
}

func (r *replica) relistPods() {
	r.podQueue = nil
	for _, name := range sortedKeys(r.h.api.pods) {
		r.deliver(podEvent{r.h.api.pods[name], true})
	}
	for uid, pod := range r.known {
		if current, ok := r.h.api.pods[pod.Name]; !ok || growth.PodUID(current.UID) != uid {
			r.deliver(podEvent{pod, false})
		}
	}
}

func (r *replica) deliver(n podEvent) {
	uid := growth.PodUID(n.pod.UID)
	r.known[uid] = n.pod
	if !n.present {
		delete(r.known, uid)
	}
	r.cache.Step(cache.OnPod(n.pod, n.present))
}

func (r *replica) queueBatch(b bus.Batch) {
	r.busQueue = append(r.busQueue, queued[bus.Batch]{b, r.h.now})
}
func (r *replica) queuePod(pod *corev1.Pod, present bool) {
	r.podQueue = append(r.podQueue, queued[podEvent]{podEvent{pod, present}, r.h.now})
}

// restartBusWatch breaks the watch on the bus, or starts it again.
func (r *replica) restartBusWatch(down bool) {
	if down {
		r.queueBatch(bus.Batch{Err: bus.ErrUnavailable})
		return
	}
	entries, revision, err := r.h.bus.List(ctx, bus.Nodes)
	if err != nil {
		panic(err)
	}
	r.busQueue = nil
	r.queueBatch(bus.Batch{Reset: true, Revision: revision, Entries: entries})
}

// nextBatch delivers the next batch of the bus. A repeated batch stays in the queue.
func (r *replica) nextBatch(repeated bool) {
	batch := r.busQueue[0].event
	if !repeated {
		r.busQueue = r.busQueue[1:]
	}
	if r.h.faults.duplicated {
		batch = duplicated(batch)
	}
	r.cache.Step(cache.OnNodes(batch))
}

// nextPodEvent delivers the n-th event of a pod, but no event of a pod after its deletion.
func (r *replica) nextPodEvent(n int) {
	n %= len(r.podQueue)
	for _, before := range r.podQueue[:n] {
		if before.event.pod.UID == r.podQueue[n].event.pod.UID && !r.podQueue[n].event.present {
			n = 0
			break
		}
	}
	event := r.podQueue[n].event
	r.podQueue = slices.Delete(r.podQueue, n, n+1)
	r.deliver(event)
}

// catchUp delivers all events up to a time.
func (r *replica) catchUp(until time.Duration) {
	for len(r.busQueue) > 0 && r.busQueue[0].at <= until {
		r.nextBatch(false)
	}
	for len(r.podQueue) > 0 && r.podQueue[0].at <= until {
		r.nextPodEvent(0)
	}
}

func (h *harness) one(a int) *replica { return h.replicas[a%len(h.replicas)] }

func (h *harness) deliverBus(a, b, _ int) {
	if r := h.one(a); len(r.busQueue) > 0 {
		r.nextBatch(b%8 == 0)
	}
}

func (h *harness) deliverPod(a, b, c int) {
	r := h.one(a)
	if len(r.podQueue) == 0 {
		return
	}
	if b%4 != 0 {
		c = 0
	}
	r.nextPodEvent(c)
}

func (h *harness) relist(a, b, _ int) {
	switch r := h.one(a); {
	case b%2 == 0:
		r.relistPods()
	case !h.busDown:
		r.restartBusWatch(false)
	}
}

// crash stops a replica between two of its calls, and starts it again.
func (h *harness) crash(a, _, _ int) {
	r := h.one(a)
	for _, work := range slices.Clone(h.work) {
		if work.of == r {
			work.kill()
		}
	}
	r.start()
}

func (h *harness) bind(a, b, c int) {
	r := h.one(a)
	pod, ok := h.pick(b, unbound)
	if !ok || len(h.work) > 6 {
		return
	}
	nodes := make([]string, len(h.kubelets))
	for i, k := range h.kubelets {
		nodes[i] = string(k.node)
	}
	found, err := r.scheduler.Filter(h.api.pods[pod.Ref.Name], nodes)
	fit := found.Fit()
	if err != nil || len(fit) == 0 {
		return
	}
	node := growth.NodeName(fit[c%len(fit)])
	h.begin(r, bindTimeout, func() {
		err := r.scheduler.Bind(ctx, pod.Ref, node)
		current, ok := h.api.pods[pod.Ref.Name]
		if err == nil && ok && current.Spec.NodeName != string(node) {
			h.fail("bind: %s was reported on %s and is on %q", pod.Ref, node, current.Spec.NodeName)
		}
	})
}

func (h *harness) reconcile(a, _, _ int) {
	r := h.one(a)
	if slices.ContainsFunc(h.work, func(k *work) bool { return k.of == r && k.reconciles }) {
		return // a replica has one goroutine for that
	}
	h.begin(r, time.Hour, func() { r.reconciler.Reconcile(ctx) }).reconciles = true
}

// Outcomes of a call.
const (
	succeeded   = iota
	lostAnswer  // the call was made, and its answer lost
	refusedCall // the call was not made
	timedOut    // the call was not made, and the caller timed out
)

// call lets one coroutine make its next call.
func (h *harness) call(a, b, _ int) {
	if len(h.work) == 0 {
		return
	}
	outcome := succeeded
	switch b % 16 {
	case 1:
		outcome = lostAnswer
	case 2:
		outcome = refusedCall
	}
	h.work[a%len(h.work)].resume(outcome)
}

// work is a coroutine of a replica. It stops before each of its calls.
type work struct {
	h          *harness
	of         *replica
	until      time.Duration
	reconciles bool
	done       bool
	outcome    int
	next       func() (struct{}, bool)
	end        func()
	yield      func(struct{}) bool
}

// crashed unwinds a coroutine whose process has crashed.
type crashed struct{}

func (h *harness) begin(r *replica, within time.Duration, do func()) *work {
	k := &work{h: h, of: r, until: h.now + within}
	k.next, k.end = iter.Pull(func(yield func(struct{}) bool) {
		defer func() {
			if cause := recover(); cause != nil && cause != (crashed{}) {
				panic(cause)
			}
		}()
		k.yield = yield
		do()
	})
	h.work = append(h.work, k)
	k.resume(succeeded) // up to its first call
	return k
}

func (k *work) resume(outcome int) {
	if k.done {
		return
	}
	k.outcome, k.h.running = outcome, k
	_, more := k.next()
	k.h.running = nil
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
	k.h.work = slices.DeleteFunc(k.h.work, func(other *work) bool { return other == k })
}

// stop waits before a call until the driver resumes the coroutine.
func (h *harness) stop(call func() error, fails func(outcome int) error) error {
	k := h.running
	if !k.yield(struct{}{}) {
		panic(crashed{})
	}
	switch k.outcome {
	case succeeded:
		return call()
	case lostAnswer:
		_ = call()
	}
	return fails(k.outcome)
}

// busClient is a replica's client of the bus. Each call stops its coroutine.
type busClient struct{ h *harness }

func (x busClient) fails(outcome int) error {
	if outcome == timedOut {
		return context.DeadlineExceeded
	}
	// The result is unknown, which is the case for assumed reservations.
	return bus.ErrUnavailable
}

func (x busClient) List(_ context.Context, prefix string) (entries []bus.Entry, revision bus.Revision, err error) {
	err = x.h.stop(func() error { entries, revision, err = x.h.bus.List(ctx, prefix); return err }, x.fails)
	return entries, revision, err
}

func (x busClient) Commit(_ context.Context, writes []bus.Write, guards ...bus.Guard) (revision bus.Revision, err error) {
	writes, guards = x.h.faults.commit(writes, guards)
	err = x.h.stop(func() error { revision, err = x.h.bus.Commit(ctx, writes, guards...); return err }, x.fails)
	return revision, err
}

func (x busClient) Delete(_ context.Context, key string, guards ...bus.Guard) error {
	return x.h.stop(func() error { return x.h.bus.Delete(ctx, key, guards...) }, x.fails)
}
