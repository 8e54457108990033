package model

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
	// lag is the most that a watch is behind.
	lag = 5 * time.Second
	// patience is how long a Bind goes on.
	patience = 4 * time.Second
)

// world is everything.
type world struct {
	faults faults

	now     time.Duration
	mem     *membus.Bus
	bus     *membus.Session // everybody's but the replicas'
	away    bool
	api     *server
	kubes   []*kubelet
	books   map[growth.NodeName]*reservations.Books // the bus, read back after each step
	seen    map[string]bus.Entry
	made    int
	work    []*work
	running *work

	replicas []*replica
	// excused are pods that kubelet put elsewhere than planned, or that were decided on without the bus.
	excused map[growth.PodUID]bool
	// broken says which invariant does not hold.
	broken string
}

func newWorld(f faults) *world {
	mem := membus.New()
	w := &world{
		faults: f, mem: mem, bus: mem.Session(), books: map[growth.NodeName]*reservations.Books{},
		seen: map[string]bus.Entry{}, excused: map[growth.PodUID]bool{},
	}
	w.api = &server{pods: map[string]*corev1.Pod{}, read: map[string]request.Pod{}, told: w.tell}
	w.kubes = []*kubelet{
		newKubelet("n0", map[growth.GPU]growth.MiB{"n0-a": 8 * growth.GiB, "n0-b": 8 * growth.GiB}),
		newKubelet("n1", map[growth.GPU]growth.MiB{"n1-a": 8 * growth.GiB, "n1-b": 4 * growth.GiB}),
	}
	for _, k := range w.kubes {
		w.books[k.node] = &reservations.Books{}
		w.publish(k)
	}
	w.heard()
	w.replicas = []*replica{{w: w}, {w: w}}
	for _, r := range w.replicas {
		r.start()
	}
	return w
}

// run takes steps until an invariant breaks, and returns which and after how many.
func run(steps []step, f faults) (broken string, after int) {
	w := newWorld(f)
	defer w.close()
	for i, s := range steps {
		actions[s.do](w, s.a, s.b, s.c)
		w.heard()
		if w.broken == "" {
			w.check()
		}
		if w.broken != "" {
			return w.broken, i + 1
		}
	}
	return "", len(steps)
}

// close ends all coroutines.
func (w *world) close() {
	for _, work := range slices.Clone(w.work) {
		work.kill()
	}
}

func (w *world) breaks(format string, args ...any) {
	if w.broken == "" {
		w.broken = fmt.Sprintf(format, args...)
	}
}

// heard reads the bus back and queues what changed for each replica. A step changes few keys.
func (w *world) heard() {
	if w.away {
		return
	}
	entries, revision, err := w.bus.List(ctx, bus.Nodes)
	if err != nil {
		panic(err)
	}
	batch, now := bus.Batch{Revision: revision}, make(map[string]bus.Entry, len(entries))
	for _, e := range entries {
		now[e.Key] = e
		if w.seen[e.Key].Revision != e.Revision {
			batch.Entries = append(batch.Entries, e)
		}
	}
	for key := range w.seen {
		if _, there := now[key]; !there {
			batch.Deleted = append(batch.Deleted, key)
		}
	}
	if len(batch.Entries)+len(batch.Deleted) == 0 {
		return
	}
	slices.Sort(batch.Deleted)
	w.seen = now
	for _, key := range batch.Deleted {
		parsed, _ := bus.ParseKey(key)
		w.books[parsed.Node].Remove(parsed)
	}
	for _, e := range batch.Entries {
		parsed, err := bus.ParseKey(e.Key)
		if err != nil {
			w.breaks("key: %v", err)
			continue
		}
		w.books[parsed.Node].Enter(parsed, e)
	}
	for _, r := range w.replicas {
		r.queueBatch(batch)
	}
}

// tell queues news of a pod for each replica.
func (w *world) tell(pod *corev1.Pod, present bool) {
	for _, r := range w.replicas {
		r.queuePod(pod, present)
	}
}

func (w *world) create(a, b, c int) {
	if len(w.api.pods) > 2+a%16 {
		return // few pods at most times, so that replicas meet over one of them
	}
	w.made++
	memory, count, containers := 1+c%5, 1+b%8/7, 1+c/5%3/2
	units := make([]int, containers)
	for i := range memory {
		units[i%containers] += count
	}
	units = slices.DeleteFunc(units, func(n int) bool { return n == 0 })
	pod := clustertest.Pod(fmt.Sprintf("p%04d", w.made), fmt.Sprintf("%dGi", memory), units...)
	pod.Annotations[gpushare.CountAnnotation] = fmt.Sprint(count)
	pod.CreationTimestamp = metav1.Time{Time: time.Unix(int64(w.made), 0)}
	w.api.write(pod)
}

// some picks the n-th of the pods that are to be kept.
func (w *world) some(n int, keep func(request.Pod) bool) (request.Pod, bool) {
	list := w.api.list(keep)
	if len(list) == 0 {
		return request.Pod{}, false
	}
	return list[n%len(list)], true
}

func unbound(p request.Pod) bool { return p.Node == "" && !p.Ended }
func running(p request.Pod) bool { return p.Node != "" && !p.Ended }

func (w *world) touch(a, _, _ int) {
	if p, ok := w.some(a, unbound); ok {
		w.api.write(w.api.pods[p.Ref.Name].DeepCopy())
	}
}

// delete removes a pod at once where kubelet does not know it, and else has kubelet end it first.
func (w *world) delete(a, _, _ int) {
	p, ok := w.some(a, func(request.Pod) bool { return true })
	switch {
	case !ok:
	case p.Node == "":
		w.api.remove(p.Ref.Name)
	default:
		w.api.write(leaving(w.api.pods[p.Ref.Name]))
	}
}

func (w *world) end(a, _, _ int) {
	p, ok := w.some(a, func(p request.Pod) bool { return running(p) && w.kube(p.Node).holds[p.Ref.UID] != nil })
	if ok {
		w.api.write(ended(w.api.pods[p.Ref.Name], corev1.PodSucceeded))
	}
}

func (w *world) kube(node growth.NodeName) *kubelet {
	return w.kubes[slices.IndexFunc(w.kubes, func(k *kubelet) bool { return k.node == node })]
}

// toggle makes the bus go away or come back.
func (w *world) toggle(_, _, _ int) {
	w.away = !w.away
	if w.away {
		w.mem.Fail(bus.ErrUnavailable)
	} else {
		w.mem.Fail(nil)
		for _, k := range w.kubes {
			if !k.dead {
				w.publish(k) // what it could not say meanwhile
			}
		}
		w.heard()
	}
	for _, r := range w.replicas {
		r.queueBus(w.away)
	}
}

// pass lets time go by: what is late arrives, and who waits too long gives up.
func (w *world) passed(d time.Duration) {
	w.now += d
	for _, work := range slices.Clone(w.work) {
		for work.until <= w.now && !work.done {
			work.resume(late)
			w.heard()
		}
	}
	for _, r := range w.replicas {
		r.catchUp(w.now - lag)
	}
	w.mem.Advance(d)
	w.heard()
}

func (w *world) pass(a, b, _ int) {
	d := time.Duration(1+a%5) * time.Second
	if b%8 == 0 {
		d = time.Duration(1+a%3) * time.Minute
	}
	// In pieces, since watches are never further behind than lag.
	for ; d > lag; d -= lag {
		w.passed(lag)
	}
	w.passed(d)
}
