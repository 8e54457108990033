package modelcheck

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/extender/internal/clustertest"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/extender/internal/reservations"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/bus/membus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

const (
	// lag is the maximal delay of a watch.
	lag = 5 * time.Second
	// bindTimeout is the timeout of a Bind.
	bindTimeout = 4 * time.Second
)

// harness is the state of a run.
type harness struct {
	faults faults

	now         time.Duration
	mem         *membus.Bus
	bus         *membus.Session // of all parts except the replicas
	busDown     bool
	api         *server
	kubelets    []*kubelet
	nodeRecords map[growth.NodeName]*reservations.NodeRecords // of the bus, read after each step
	seen        map[string]bus.Entry
	created     int
	work        []*work
	running     *work

	replicas []*replica
	// excused are pods that kubelet allocated against the plan, or that were assumed without the bus.
	excused map[growth.PodUID]bool
	// failure says which invariant does not hold.
	failure string
}

func newHarness(f faults) *harness {
	mem := membus.New()
	h := &harness{
		faults: f, mem: mem, bus: mem.Session(), nodeRecords: map[growth.NodeName]*reservations.NodeRecords{},
		seen: map[string]bus.Entry{}, excused: map[growth.PodUID]bool{},
	}
	h.api = &server{pods: map[string]*corev1.Pod{}, read: map[string]request.Pod{}, notify: h.queuePods}
	h.kubelets = []*kubelet{
		newKubelet("n0", map[growth.GPU]growth.MiB{"n0-a": 8 * growth.GiB, "n0-b": 8 * growth.GiB}),
		newKubelet("n1", map[growth.GPU]growth.MiB{"n1-a": 8 * growth.GiB, "n1-b": 4 * growth.GiB}),
	}
	for _, k := range h.kubelets {
		h.nodeRecords[k.node] = &reservations.NodeRecords{}
		h.publish(k)
	}
	h.readBus()
	h.replicas = []*replica{{h: h}, {h: h}}
	for _, r := range h.replicas {
		r.start()
	}
	return h
}

// run executes steps until an invariant fails. It returns the failure and the number of steps.
func run(steps []step, f faults) (failure string, after int) {
	h := newHarness(f)
	defer h.close()
	for i, s := range steps {
		actions[s.do](h, s.a, s.b, s.c)
		h.readBus()
		if h.failure == "" {
			h.check()
		}
		if h.failure != "" {
			return h.failure, i + 1
		}
	}
	return "", len(steps)
}

// close stops all coroutines.
func (h *harness) close() {
	for _, work := range slices.Clone(h.work) {
		work.kill()
	}
}

func (h *harness) fail(format string, args ...any) {
	if h.failure == "" {
		h.failure = fmt.Sprintf(format, args...)
	}
}

// readBus reads the bus and queues the changes for each replica. A step changes few keys.
func (h *harness) readBus() {
	if h.busDown {
		return
	}
	entries, revision, err := h.bus.List(ctx, bus.Nodes)
	if err != nil {
		panic(err)
	}
	batch, current := bus.Batch{Revision: revision}, make(map[string]bus.Entry, len(entries))
	for _, e := range entries {
		current[e.Key] = e
		if h.seen[e.Key].Revision != e.Revision {
			batch.Entries = append(batch.Entries, e)
		}
	}
	for key := range h.seen {
		if _, ok := current[key]; !ok {
			batch.Deleted = append(batch.Deleted, key)
		}
	}
	if len(batch.Entries)+len(batch.Deleted) == 0 {
		return
	}
	slices.Sort(batch.Deleted)
	h.seen = current
	for _, key := range batch.Deleted {
		parsed, _ := bus.ParseKey(key)
		h.nodeRecords[parsed.Node].Remove(parsed)
	}
	for _, e := range batch.Entries {
		parsed, err := bus.ParseKey(e.Key)
		if err != nil {
			h.fail("key: %v", err)
			continue
		}
		h.nodeRecords[parsed.Node].Set(parsed, e)
	}
	for _, r := range h.replicas {
		r.queueBatch(batch)
	}
}

// queuePods queues an event of a pod for each replica.
func (h *harness) queuePods(pod *corev1.Pod, present bool) {
	for _, r := range h.replicas {
		r.queuePod(pod, present)
	}
}

func (h *harness) create(a, b, c int) {
	if len(h.api.pods) > 2+a%16 {
		return // few pods most of the time, so that replicas conflict
	}
	h.created++
	memory, count, containers := 1+c%5, 1+b%8/7, 1+c/5%3/2
	units := make([]int, containers)
	for i := range memory {
		units[i%containers] += count
	}
	units = slices.DeleteFunc(units, func(n int) bool { return n == 0 })
	pod := clustertest.Pod(fmt.Sprintf("p%04d", h.created), fmt.Sprintf("%dGi", memory), units...)
	pod.Annotations[gpushare.CountAnnotation] = fmt.Sprint(count)
	pod.CreationTimestamp = metav1.Time{Time: time.Unix(int64(h.created), 0)}
	h.api.write(pod)
}

// pick returns the n-th of the pods that keep accepts.
func (h *harness) pick(n int, keep func(request.Pod) bool) (request.Pod, bool) {
	list := h.api.list(keep)
	if len(list) == 0 {
		return request.Pod{}, false
	}
	return list[n%len(list)], true
}

func unbound(p request.Pod) bool { return p.Node == "" && !p.Ended }
func running(p request.Pod) bool { return p.Node != "" && !p.Ended }

func (h *harness) touch(a, _, _ int) {
	if p, ok := h.pick(a, unbound); ok {
		h.api.write(h.api.pods[p.Ref.Name].DeepCopy())
	}
}

// delete deletes an unbound pod at once. A bound pod is terminated by kubelet first.
func (h *harness) delete(a, _, _ int) {
	p, ok := h.pick(a, func(request.Pod) bool { return true })
	switch {
	case !ok:
	case p.Node == "":
		h.api.remove(p.Ref.Name)
	default:
		h.api.write(terminating(h.api.pods[p.Ref.Name]))
	}
}

func (h *harness) end(a, _, _ int) {
	p, ok := h.pick(a, func(p request.Pod) bool { return running(p) && h.kube(p.Node).holds[p.Ref.UID] != nil })
	if ok {
		h.api.write(withPhase(h.api.pods[p.Ref.Name], corev1.PodSucceeded))
	}
}

func (h *harness) kube(node growth.NodeName) *kubelet {
	return h.kubelets[slices.IndexFunc(h.kubelets, func(k *kubelet) bool { return k.node == node })]
}

// toggle makes the bus unavailable or available.
func (h *harness) toggle(_, _, _ int) {
	h.busDown = !h.busDown
	if h.busDown {
		h.mem.Fail(bus.ErrUnavailable)
	} else {
		h.mem.Fail(nil)
		for _, k := range h.kubelets {
			if !k.pluginDown {
				h.publish(k) // what it could not publish before
			}
		}
		h.readBus()
	}
	for _, r := range h.replicas {
		r.restartBusWatch(h.busDown)
	}
}

// advance lets time pass: late events arrive, and calls that wait too long time out.
func (h *harness) advance(d time.Duration) {
	h.now += d
	for _, work := range slices.Clone(h.work) {
		for work.until <= h.now && !work.done {
			work.resume(timedOut)
			h.readBus()
		}
	}
	for _, r := range h.replicas {
		r.catchUp(h.now - lag)
	}
	h.mem.Advance(d)
	h.readBus()
}

func (h *harness) pass(a, b, _ int) {
	d := time.Duration(1+a%5) * time.Second
	if b%8 == 0 {
		d = time.Duration(1+a%3) * time.Minute
	}
	// In parts, because watches never lag by more than lag.
	for ; d > lag; d -= lag {
		h.advance(lag)
	}
	h.advance(d)
}
