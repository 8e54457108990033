package model

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// kubelet is a node's kubelet and device plugin: ids that name their GPU, given out once.
type kubelet struct {
	node   growth.NodeName
	memory map[growth.GPU]growth.MiB
	ill    map[growth.GPU]bool
	dead   bool // its device plugin
	// holds is what each pod has been given, recorded how many of its containers are on the bus.
	holds    map[growth.PodUID][]bus.ContainerAllocation
	refs     map[growth.PodUID]growth.PodRef
	recorded map[growth.PodUID]int
}

func newKubelet(node growth.NodeName, memory map[growth.GPU]growth.MiB) *kubelet {
	return &kubelet{
		node: node, memory: memory, ill: map[growth.GPU]bool{}, holds: map[growth.PodUID][]bus.ContainerAllocation{},
		refs: map[growth.PodUID]growth.PodRef{}, recorded: map[growth.PodUID]int{},
	}
}

func (k *kubelet) gpus() []growth.GPU {
	var all []growth.GPU
	for g := range k.memory {
		all = append(all, g)
	}
	slices.Sort(all)
	return all
}

// free is what kubelet has not given out of a GPU.
func (k *kubelet) free(g growth.GPU) growth.MiB {
	free := k.memory[g]
	for _, containers := range k.holds {
		for _, share := range (bus.Allocation{Containers: containers}).GPUs() {
			if share.GPU == g {
				free -= share.Memory
			}
		}
	}
	return free
}

func (w *world) publish(k *kubelet) {
	inventory := bus.NodeGPUs{Unit: growth.GiB, Resource: gpushare.Resource}
	for _, g := range k.gpus() {
		inventory.GPUs = append(inventory.GPUs, bus.GPU{UUID: g, Memory: k.memory[g], Healthy: !k.ill[g]})
	}
	w.put(bus.GPUsKey(k.node), encoded(inventory))
}

func encoded[T any, R bus.Record[T]](record T) []byte {
	value, err := bus.Encode[T, R](record)
	if err != nil {
		panic(err)
	}
	return value
}

func (w *world) put(key string, value []byte) bool {
	_, err := w.bus.Put(ctx, key, value, bus.Persistent)
	return err == nil
}

// admits has kubelet take the oldest bound pod it does not know, as kubelet does. It tells whether there was one.
func (w *world) admits(k *kubelet, strays bool) bool {
	p, ok := w.some(0, func(p request.Pod) bool {
		return running(p) && p.Node == k.node && k.holds[p.Ref.UID] == nil && w.api.pods[p.Ref.Name].DeletionTimestamp == nil
	})
	if !ok {
		return false
	}
	planned := p.GPUs
	if r, reserved := w.books[k.node].Reservations[p.Ref.UID]; reserved && !w.away {
		planned = nil
		for _, share := range r.GPUs {
			planned = append(planned, share.GPU)
		}
	}
	memory, _ := p.Request.MemoryPerGPU(growth.GiB)
	on := k.choose(planned, memory, p.Request.Count, strays)
	if on == nil {
		w.api.write(ended(w.api.pods[p.Ref.Name], corev1.PodFailed))
		return true
	}
	if slices.ContainsFunc(on, func(g growth.GPU) bool { return !slices.Contains(planned, g) }) {
		w.excused[p.Ref.UID] = true
	}
	var containers []bus.ContainerAllocation
	for _, c := range p.Request.ContainerRequests() {
		given := bus.ContainerAllocation{Name: c.Name}
		for _, g := range on {
			units := (c.Units + p.Request.Count - 1) / p.Request.Count
			given.GPUs = append(given.GPUs, growth.GPUShare{GPU: g, Memory: growth.MiB(units) * growth.GiB})
		}
		containers = append(containers, given)
	}
	k.holds[p.Ref.UID], k.refs[p.Ref.UID] = containers, p.Ref
	return true
}

func (w *world) admit(a, b, _ int) { w.admits(w.kubes[a%len(w.kubes)], b%4 == 3) }

// choose prefers the plan, unless kubelet strays; nil where no GPUs have enough left.
func (k *kubelet) choose(planned []growth.GPU, memory growth.MiB, count int, strays bool) []growth.GPU {
	options := slices.DeleteFunc(k.gpus(), func(g growth.GPU) bool { return k.free(g) < memory })
	if len(options) < count {
		return nil
	}
	rank := func(g growth.GPU) int {
		if slices.Contains(planned, g) != strays {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(options, func(a, b growth.GPU) int { return cmp.Compare(rank(a), rank(b)) })
	return options[:count]
}

// records has the device plugin write down the first pod that runs and that the bus has not in full, or take out one that
// is gone. It tells whether there was one.
func (w *world) records(k *kubelet, partly bool) bool {
	for _, uid := range slices.Sorted(maps.Keys(w.books[k.node].Allocations)) {
		if k.holds[uid] == nil && w.bus.Delete(ctx, bus.AllocationKey(k.node, uid)) == nil {
			delete(k.recorded, uid)
			return true
		}
	}
	var waiting []growth.PodUID
	for uid, containers := range k.holds {
		if p, there := w.api.read[k.refs[uid].Name]; there && !p.Ended && k.recorded[uid] < len(containers) {
			waiting = append(waiting, uid)
		}
	}
	if len(waiting) == 0 {
		return false
	}
	uid := slices.Min(waiting)
	n := len(k.holds[uid])
	if partly {
		n = min(n, k.recorded[uid]+1)
	}
	written := w.put(bus.AllocationKey(k.node, uid), encoded(bus.Allocation{Pod: k.refs[uid], Containers: k.holds[uid][:n]}))
	if written {
		k.recorded[uid] = n
	}
	return written
}

func (w *world) record(a, b, _ int) { w.records(w.kubes[a%len(w.kubes)], b%4 == 0) }

// reap gives back what pods held that have ended, and lets those go that were to be deleted.
func (w *world) reap(a, _, _ int) {
	k := w.kubes[a%len(w.kubes)]
	for uid, ref := range k.refs {
		if pod, there := w.api.pods[ref.Name]; !there || pod.DeletionTimestamp != nil || pod.Status.Phase != "" {
			delete(k.holds, uid)
			delete(k.refs, uid)
		}
	}
	for _, name := range sortedKeys(w.api.pods) {
		if pod := w.api.pods[name]; pod.DeletionTimestamp != nil && pod.Spec.NodeName == string(k.node) {
			w.api.remove(name)
		}
	}
}

func (w *world) health(a, b, _ int) {
	k := w.kubes[a%len(w.kubes)]
	g := k.gpus()[b%len(k.memory)]
	k.ill[g] = !k.ill[g]
	if !k.dead && !w.away {
		w.publish(k)
	}
}

func (w *world) plugin(a, _, _ int) {
	k := w.kubes[a%len(w.kubes)]
	if w.away {
		return
	}
	if k.dead = !k.dead; k.dead {
		_ = w.bus.Delete(ctx, bus.GPUsKey(k.node))
		return
	}
	w.publish(k)
}
