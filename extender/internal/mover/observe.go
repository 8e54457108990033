package mover

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/move"
	"github.com/trellis-gpu/trellis/growth/rebalance"
)

// observe returns the cluster as package rebalance sees it.
func (m *Mover) observe(
	ctx context.Context, snapshot *cache.Snapshot, moves movesNow, past map[string]remembered, check *checks, now time.Time,
) rebalance.Cluster {
	going := moves.going()
	c := rebalance.Cluster{
		Now:    now,
		Moving: moves.inFlight(),
		Policy: m.policy(snapshot),
		Model:  snapshot.Model(),
		Allowed: func(pod growth.PodUID, on growth.NodeName) bool {
			p, known := snapshot.Pods.Get(pod)
			return known && check.allowed(ctx, p.Ref, on)
		},
		MissingImages: func(pod growth.PodUID, on growth.NodeName) growth.MiB {
			p, known := snapshot.Pods.Get(pod)
			if !known {
				return 0
			}
			return check.missing(ctx, p.Ref, on)
		},
	}
	for _, of := range past {
		c.Past = append(c.Past, rebalance.Past{Kind: of.Kind, History: of.History})
	}
	strangers := map[growth.NodeName]growth.PodUID{}
	for pod, on := range snapshot.Sampled() {
		if p, known := snapshot.Pods.Get(pod); !known || p.Node != on {
			strangers[on] = pod
		}
	}
	continued := continuing(past)
	for name, info := range snapshot.Nodes.All() {
		n := described(info)
		if pod, has := strangers[name]; has && n.Unused == "" {
			n.Unused = "a job is there that is not known to be, with UID " + string(pod)
		}
		if slices.ContainsFunc(going, func(r bus.Move) bool { return touches(r.Move, name) }) {
			n.Unused = "a job moves from or to it"
		}
		for uid, gpus := range holders(info) {
			if pod, known := snapshot.Pods.Get(uid); known {
				n.Jobs = append(n.Jobs, m.job(snapshot, pod, gpus, continued[uid], past, now))
			} else if n.Unused == "" {
				n.Unused = "a pod holds memory there that is not known, with UID " + string(uid)
			}
		}
		slices.SortFunc(n.Jobs, func(a, b rebalance.Job) int { return cmp.Compare(a.Pod.UID, b.Pod.UID) })
		c.Nodes = append(c.Nodes, n)
	}
	slices.SortFunc(c.Nodes, func(a, b rebalance.Node) int { return cmp.Compare(a.Name, b.Name) })
	c.Pending = pending(snapshot, moves)
	return c
}

func touches(r move.Record, node growth.NodeName) bool {
	return r.From == node || r.To == node || r.On == node
}

// described returns a node without its jobs.
func described(info *cache.NodeInfo) rebalance.Node {
	inventory := info.Inventory()
	n := rebalance.Node{
		Node:    info.Expected(),
		GPUTime: !inventory.Emulated || inventory.Computes,
		Overlap: inventory.MPS,
		CPU:     info.CPU,
		Models:  make(map[growth.GPU]string, len(inventory.GPUs)),
		Unused:  info.Unschedulable,
	}
	for _, g := range inventory.GPUs {
		n.Models[g.UUID] = g.Model
	}
	return n
}

// holders returns the pods that hold memory on a node, with their GPUs.
func holders(info *cache.NodeInfo) map[growth.PodUID][]growth.GPU {
	on := map[growth.PodUID][]growth.GPU{}
	for _, g := range info.Expected().GPUs {
		for _, r := range g.Residents {
			on[r.Pod] = append(on[r.Pod], g.UUID)
		}
	}
	return on
}

// job returns a job as package rebalance sees it. named is the name of the history of a copy, if the pod is one.
func (m *Mover) job(
	snapshot *cache.Snapshot, pod *request.Pod, gpus []growth.GPU, named string, past map[string]remembered, now time.Time,
) rebalance.Job {
	if named == "" {
		named = pod.Identity().Job()
	}
	j := rebalance.Job{
		Pod:      pod.Ref,
		GPUs:     gpus,
		Request:  pod.Request,
		Priority: pod.Priority,
		Created:  pod.Created,
		History:  past[named].History,
	}
	p, sampled := snapshot.Prospects(pod.Ref.UID)
	if sampled {
		j.Prospects = &rebalance.Prospects{
			Node:      p.Node,
			Remaining: p.Remaining,
			Usable:    p.Usable,
			Activity:  p.Activity,
			Age:       now.Sub(p.Received),
		}
	}
	j.Fixed = m.left[pod.Ref.UID].why
	switch {
	case pod.Invalid != nil:
		j.Fixed = pod.Invalid.Error()
	case pod.CannotSave:
		j.Fixed = "it cannot save"
	case p.Paused:
		j.Fixed = "it is paused"
	case p.Spans:
		j.Fixed = "it has several pods"
	case pod.Move != "":
		j.Fixed = "its user moves it"
	}
	return j
}

// pending returns the pods that wait for a node, and not for a gate or a move.
func pending(snapshot *cache.Snapshot, moves movesNow) (all []rebalance.Pending) {
	for uid, pod := range snapshot.Pods.All() {
		if pod.Node != "" || pod.Ended || pod.Gated || pod.Invalid != nil {
			continue
		}
		p := rebalance.Pending{Pod: pod.Ref, Request: pod.Request, Priority: pod.Priority, Created: pod.Created}
		for _, r := range moves.records {
			continues := !r.Move.State.Final() && (pod.Identity().Job() == r.Move.Job() || pod.Ref.Name == r.Move.Next.Name)
			p.Helped = p.Helped || r.Move.For == uid || continues
		}
		all = append(all, p)
	}
	return all
}
