package placement

import (
	"cmp"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

// Choice is where on a node a job would go.
type Choice struct {
	// GPUs are the chosen ones, best first, with what the job would hold on each.
	GPUs  []growth.GPUShare
	Score Score
}

// Fit tells whether the request fits the node, without choosing.
func Fit(n Node, r Request) Status {
	memory, misfit := r.MemoryPerGPU(n.Unit)
	if !misfit.Fits() {
		return misfit
	}
	room := 0
	for _, g := range n.GPUs {
		if g.Healthy && g.Free() >= memory {
			room++
		}
	}
	if room >= r.Count {
		return Status{}
	}
	return whyNot(n, memory, r.Count)
}

// Place chooses the best GPUs of the node, or says why the request does not fit.
func Place(n Node, r Request, p Policy) (Choice, Status) {
	if misfit := Fit(n, r); !misfit.Fits() {
		return Choice{}, misfit
	}
	memory, _ := r.MemoryPerGPU(n.Unit)
	type option struct {
		gpu   growth.GPU
		worth Score
	}
	var options []option
	for _, g := range n.GPUs {
		if g.Healthy && g.Free() >= memory {
			options = append(options, option{g.UUID, p.Score(g, memory, r.Count)})
		}
	}
	slices.SortFunc(options, func(a, b option) int {
		return cmp.Or(cmp.Compare(b.worth, a.worth), cmp.Compare(a.gpu, b.gpu))
	})
	var choice Choice
	for _, o := range options[:r.Count] {
		choice.GPUs = append(choice.GPUs, growth.GPUShare{GPU: o.gpu, Memory: memory})
		choice.Score += o.worth / Score(r.Count)
	}
	return choice, Status{}
}

// ScoreNode is the score of the place that Place would choose. It names no GPU: thousands of nodes are rated for each that is chosen.
func ScoreNode(n Node, r Request, p Policy) (Score, Status) {
	if r.Count != 1 {
		choice, misfit := Place(n, r, p)
		return choice.Score, misfit
	}
	memory, misfit := r.MemoryPerGPU(n.Unit)
	if !misfit.Fits() {
		return 0, misfit
	}
	var best Score
	room := false
	for _, g := range n.GPUs {
		if !g.Healthy || g.Free() < memory {
			continue
		}
		if worth := p.Score(g, memory, 1); !room || cmp.Compare(worth, best) > 0 {
			best, room = worth, true
		}
	}
	if !room {
		return 0, whyNot(n, memory, 1)
	}
	return best, Status{}
}

// StillFits confirms GPUs that were chosen before, if the request still fits there. The node is as it is without the job.
func StillFits(n Node, r Request, gpus []growth.GPUShare) bool {
	memory, misfit := r.MemoryPerGPU(n.Unit)
	if !misfit.Fits() || len(gpus) != r.Count {
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

// explain says in which way a node that has no room has none, in the same words for nodes that are alike: the scheduler tells
// the user each reason once, with how many nodes it holds for. Hopeless reasons come first: they are what to act on.
func whyNot(n Node, memory growth.MiB, count int) Status {
	if len(n.GPUs) == 0 {
		return unresolvable("the node has no GPU")
	}
	var healthy, large int
	most, free := n.GPUs[0], GPU{}
	for _, g := range n.GPUs {
		if g.Memory > most.Memory {
			most = g
		}
		if g.Memory >= memory {
			large++
		}
		if !g.Healthy {
			continue
		}
		if healthy == 0 || g.Free() > free.Free() || g.Free() == free.Free() && g.Index < free.Index {
			free = g
		}
		healthy++
	}
	switch {
	case len(n.GPUs) < count:
		return unresolvable("GPUs: %d asked, the node has %d", count, len(n.GPUs))
	case large == 0:
		return unresolvable("GPU memory: %s asked, the largest GPU has %s", memory, most.Memory)
	case large < count:
		return unresolvable("GPU memory: %s asked on each of %d GPUs, only %d of %d are that large", memory, count, large, len(n.GPUs))
	case healthy < count:
		return unresolvable("GPUs: %d asked, %d of %d are healthy", count, healthy, len(n.GPUs))
	case count == 1:
		return unschedulable("GPU memory: %s asked, largest free share %s on gpu-%d", memory, max(0, free.Free()), free.Index)
	}
	return unschedulable("GPU memory: %s asked on each of %d GPUs, too few of %d have it free", memory, count, len(n.GPUs))
}
