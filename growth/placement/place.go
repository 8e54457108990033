package placement

import (
	"cmp"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

// Choice is a set of GPUs of a node for a pod.
type Choice struct {
	// GPUs are the chosen GPUs, best first, with the memory that the pod would hold on each.
	GPUs  []growth.GPUShare
	Score Score
}

// Fit reports whether the request fits the node, without choosing GPUs.
func Fit(n Node, r Request) Status {
	memory, status := r.MemoryPerGPU(n.Unit)
	if !status.Fits() {
		return status
	}
	fitting := 0
	for _, g := range n.GPUs {
		if g.Healthy && g.Free() >= memory {
			fitting++
		}
	}
	if fitting >= r.Count {
		return Status{}
	}
	return whyNot(n, memory, r.Count)
}

// Place chooses the best GPUs of the node. If the request does not fit, the status has the reason.
func Place(n Node, r Request, p Policy) (Choice, Status) {
	if status := Fit(n, r); !status.Fits() {
		return Choice{}, status
	}
	memory, _ := r.MemoryPerGPU(n.Unit)
	type candidate struct {
		gpu   growth.GPU
		score Score
	}
	var candidates []candidate
	job := r.Newcomer(n, memory)
	for _, g := range n.GPUs {
		if g.Healthy && g.Free() >= memory {
			candidates = append(candidates, candidate{g.UUID, p.Score(g, job)})
		}
	}
	slices.SortFunc(candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.gpu, b.gpu))
	})
	var choice Choice
	for _, c := range candidates[:r.Count] {
		choice.GPUs = append(choice.GPUs, growth.GPUShare{GPU: c.gpu, Memory: memory})
		choice.Score += c.score / Score(r.Count)
	}
	return choice, Status{}
}

// ScoreNode returns the score of the choice that Place would make. It is the fast path for requests of one GPU: the
// extender scores thousands of nodes for each pod that it places.
func ScoreNode(n Node, r Request, p Policy) (Score, Status) {
	if r.Count != 1 {
		choice, status := Place(n, r, p)
		return choice.Score, status
	}
	memory, status := r.MemoryPerGPU(n.Unit)
	if !status.Fits() {
		return 0, status
	}
	var best Score
	found := false
	job := r.Newcomer(n, memory)
	for _, g := range n.GPUs {
		if !g.Healthy || g.Free() < memory {
			continue
		}
		score := p.Score(g, job)
		if !found || cmp.Compare(score, best) > 0 {
			best = score
			found = true
		}
	}
	if !found {
		return 0, whyNot(n, memory, 1)
	}
	return best, Status{}
}

// StillFits reports whether GPUs that were chosen before still fit the request. The node must not contain the pod.
func StillFits(n Node, r Request, gpus []growth.GPUShare) bool {
	memory, status := r.MemoryPerGPU(n.Unit)
	if !status.Fits() || len(gpus) != r.Count {
		return false
	}
	for i, share := range gpus {
		at, known := slices.BinarySearchFunc(n.GPUs, GPU{UUID: share.GPU}, byUUID)
		if !known || share.Memory != memory || !n.GPUs[at].Healthy || n.GPUs[at].Free() < memory {
			return false
		}
		if slices.Contains(gpus[:i], share) {
			return false
		}
	}
	return true
}

// whyNot returns the reason why a request does not fit the node. It uses the same words for similar nodes, because the
// scheduler reports each distinct reason once, with its number of nodes. Unresolvable reasons come first: the user must
// act on them.
func whyNot(n Node, memory growth.MiB, count int) Status {
	if len(n.GPUs) == 0 {
		return unresolvable("the node has no GPU")
	}
	healthy, large := 0, 0
	largest, freest := n.GPUs[0], GPU{}
	for _, g := range n.GPUs {
		if g.Memory > largest.Memory {
			largest = g
		}
		if g.Memory >= memory {
			large++
		}
		if !g.Healthy {
			continue
		}
		if healthy == 0 || g.Free() > freest.Free() || g.Free() == freest.Free() && g.Index < freest.Index {
			freest = g
		}
		healthy++
	}
	switch {
	case len(n.GPUs) < count:
		return unresolvable("GPUs: %d asked, the node has %d", count, len(n.GPUs))
	case large == 0:
		return unresolvable("GPU memory: %s asked, the largest GPU has %s", memory, largest.Memory)
	case large < count:
		return unresolvable("GPU memory: %s asked on each of %d GPUs, only %d of %d are that large",
			memory, count, large, len(n.GPUs))
	case healthy < count:
		return unresolvable("GPUs: %d asked, %d of %d are healthy", count, healthy, len(n.GPUs))
	case count == 1:
		return unschedulable("GPU memory: %s asked, largest free share %s on gpu-%d",
			memory, max(0, freest.Free()), freest.Index)
	}
	return unschedulable("GPU memory: %s asked on each of %d GPUs, too few of %d have it free",
		memory, count, len(n.GPUs))
}
