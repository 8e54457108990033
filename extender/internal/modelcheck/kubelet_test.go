package modelcheck

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

// kubelet is the fake kubelet and device plugin of a node. A device id names its GPU and is allocated once.
type kubelet struct {
	node       growth.NodeName
	memory     map[growth.GPU]growth.MiB
	unhealthy  map[growth.GPU]bool
	pluginDown bool
	// holds are the allocations by pod. recorded is the number of containers on the bus.
	holds    map[growth.PodUID][]bus.ContainerAllocation
	refs     map[growth.PodUID]growth.PodRef
	recorded map[growth.PodUID]int
}

func newKubelet(node growth.NodeName, memory map[growth.GPU]growth.MiB) *kubelet {
	return &kubelet{
		node: node, memory: memory, unhealthy: map[growth.GPU]bool{}, holds: map[growth.PodUID][]bus.ContainerAllocation{},
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

// free returns the unallocated memory of a GPU.
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

func (h *harness) publish(k *kubelet) {
	inventory := bus.NodeGPUs{Unit: growth.GiB, Resource: gpushare.Resource}
	for _, g := range k.gpus() {
		inventory.GPUs = append(inventory.GPUs, bus.GPU{UUID: g, Memory: k.memory[g], Healthy: !k.unhealthy[g]})
	}
	h.put(bus.GPUsKey(k.node), encoded(inventory))
}

func encoded[T any, R bus.Record[T]](record T) []byte {
	value, err := bus.Encode[T, R](record)
	if err != nil {
		panic(err)
	}
	return value
}

func (h *harness) put(key string, value []byte) bool {
	_, err := h.bus.Put(ctx, key, value, bus.Persistent)
	return err == nil
}

// admitOne admits the oldest bound pod that kubelet has not admitted. It reports whether there was one.
func (h *harness) admitOne(k *kubelet, strays bool) bool {
	p, ok := h.pick(0, func(p request.Pod) bool {
		return running(p) && p.Node == k.node && k.holds[p.Ref.UID] == nil && h.api.pods[p.Ref.Name].DeletionTimestamp == nil
	})
	if !ok {
		return false
	}
	planned := p.GPUs
	if r, reserved := h.nodeRecords[k.node].Reservations[p.Ref.UID]; reserved && !h.busDown {
		planned = nil
		for _, share := range r.GPUs {
			planned = append(planned, share.GPU)
		}
	}
	memory, _ := p.Request.MemoryPerGPU(growth.GiB)
	on := k.choose(planned, memory, p.Request.Count, strays)
	if on == nil {
		h.api.write(withPhase(h.api.pods[p.Ref.Name], corev1.PodFailed))
		return true
	}
	if slices.ContainsFunc(on, func(g growth.GPU) bool { return !slices.Contains(planned, g) }) {
		h.excused[p.Ref.UID] = true
	}
	var containers []bus.ContainerAllocation
	for _, c := range p.Request.ContainerRequests() {
		allocated := bus.ContainerAllocation{Name: c.Name}
		for _, g := range on {
			units := (c.Units + p.Request.Count - 1) / p.Request.Count
			allocated.GPUs = append(allocated.GPUs, growth.GPUShare{GPU: g, Memory: growth.MiB(units) * growth.GiB})
		}
		containers = append(containers, allocated)
	}
	k.holds[p.Ref.UID], k.refs[p.Ref.UID] = containers, p.Ref
	return true
}

func (h *harness) admit(a, b, _ int) { h.admitOne(h.kubelets[a%len(h.kubelets)], b%4 == 3) }

// choose returns GPUs with enough memory: the planned ones, or others if kubelet strays. It returns nil if there are none.
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

// recordOne records one running pod whose allocation is not complete on the bus, or removes the record of one that is gone.
// It reports whether there was one.
func (h *harness) recordOne(k *kubelet, partly bool) bool {
	for _, uid := range slices.Sorted(maps.Keys(h.nodeRecords[k.node].Allocations)) {
		if k.holds[uid] == nil && h.bus.Delete(ctx, bus.AllocationKey(k.node, uid)) == nil {
			delete(k.recorded, uid)
			return true
		}
	}
	var waiting []growth.PodUID
	for uid, containers := range k.holds {
		if p, ok := h.api.read[k.refs[uid].Name]; ok && !p.Ended && k.recorded[uid] < len(containers) {
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
	written := h.put(bus.AllocationKey(k.node, uid), encoded(bus.Allocation{Pod: k.refs[uid], Containers: k.holds[uid][:n]}))
	if written {
		k.recorded[uid] = n
	}
	return written
}

func (h *harness) record(a, b, _ int) { h.recordOne(h.kubelets[a%len(h.kubelets)], b%4 == 0) }

// reap frees the devices of pods that have ended, and removes terminating pods.
func (h *harness) reap(a, _, _ int) {
	k := h.kubelets[a%len(h.kubelets)]
	for uid, ref := range k.refs {
		if pod, ok := h.api.pods[ref.Name]; !ok || pod.DeletionTimestamp != nil || pod.Status.Phase != "" {
			delete(k.holds, uid)
			delete(k.refs, uid)
		}
	}
	for _, name := range sortedKeys(h.api.pods) {
		if pod := h.api.pods[name]; pod.DeletionTimestamp != nil && pod.Spec.NodeName == string(k.node) {
			h.api.remove(name)
		}
	}
}

func (h *harness) health(a, b, _ int) {
	k := h.kubelets[a%len(h.kubelets)]
	g := k.gpus()[b%len(k.memory)]
	k.unhealthy[g] = !k.unhealthy[g]
	if !k.pluginDown && !h.busDown {
		h.publish(k)
	}
}

func (h *harness) plugin(a, _, _ int) {
	k := h.kubelets[a%len(h.kubelets)]
	if h.busDown {
		return
	}
	k.pluginDown = !k.pluginDown
	if k.pluginDown {
		_ = h.bus.Delete(ctx, bus.GPUsKey(k.node))
		return
	}
	h.publish(k)
}
