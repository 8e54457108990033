package advise

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/goodput"
	"github.com/trellis-gpu/trellis/growth/gpushare"

	"github.com/trellis-gpu/trellis/tuner/internal/history"
)

// batchChoice is a job with the sizes that it can change to, its present one first.
type batchChoice struct {
	history.Job
	options []goodput.Option
}

// adviseBatches returns the changes of batch sizes on a node: of the jobs of each GPU one at a time, because a trial measures the
// effect of one change. Jobs whose advice changes already are left for the next round.
func adviseBatches(node history.Node, jobs []history.Job, changing []Change) []Change {
	byGPU := map[growth.GPU][]batchChoice{}
	trying := map[growth.GPU]bool{}
	for _, j := range jobs {
		if !batchTunable(j) {
			continue
		}
		gpu := firstGPU(j)
		trying[gpu] = trying[gpu] || j.Sample.Batch.Trying
		busy := slices.ContainsFunc(changing, func(c Change) bool { return c.Job == j.UID })
		options := j.Sample.Batch.Options(*j.Sample.BatchSize)
		if busy || len(options) == 0 || undecided(j) {
			continue
		}
		byGPU[gpu] = append(byGPU[gpu], batchChoice{Job: j, options: options})
	}
	var changes []Change
	for _, gpu := range slices.Sorted(maps.Keys(byGPU)) {
		if trying[gpu] {
			continue
		}
		if change, ok := chooseBatch(byGPU[gpu], memoryOf(node, gpu)); ok {
			changes = append(changes, change)
		}
	}
	return changes
}

// batchTunable reports whether a job takes part. The pods of a job of several pods would not change at the same step.
func batchTunable(j history.Job) bool {
	s := j.Sample
	return s.Batch != nil && s.BatchSize != nil && slices.Contains(s.Tunable, string(gpushare.TuneBatchSize)) &&
		s.WorldSize <= max(1, s.Ranks)
}

// undecided reports whether the job still has to try the size of its advice, or to go back from it.
func undecided(j history.Job) bool {
	if j.Advice == nil || j.Advice.BatchSize == nil || *j.Advice.BatchSize == *j.Sample.BatchSize {
		return false
	}
	advised, known := *j.Advice.BatchSize, j.Sample.Batch
	rejected := (known.RejectedFrom > 0 && advised >= known.RejectedFrom) || (known.RejectedUpTo > 0 && advised <= known.RejectedUpTo)
	return !rejected && advised >= known.Range.Min && advised <= known.Range.Max
}

// firstGPU identifies the jobs whose memory and time depend on each other. A job without a GPU is on its own.
func firstGPU(j history.Job) growth.GPU {
	if len(j.Sample.GPUs) == 0 {
		return growth.GPU(j.UID)
	}
	return j.Sample.GPUs[0]
}

// memoryOf returns the memory of a GPU; 0 if it is unknown, or the GPU has none.
func memoryOf(node history.Node, gpu growth.GPU) growth.MiB {
	if node.GPUs == nil || node.GPUs.Emulated {
		return 0
	}
	for _, g := range node.GPUs.GPUs {
		if g.UUID == gpu {
			return g.Memory
		}
	}
	return 0
}

// chooseBatch chooses sizes for all jobs of a GPU, and returns the change with the largest gain.
func chooseBatch(jobs []batchChoice, memory growth.MiB) (Change, bool) {
	options := make([][]goodput.Option, len(jobs))
	for i, j := range jobs {
		options[i] = j.options
	}
	chosen := goodput.Together(options, memory)
	best := slices.IndexFunc(chosen, func(o goodput.Option) bool {
		return o.Gain == slices.MaxFunc(chosen, func(a, b goodput.Option) int { return cmp.Compare(a.Gain, b.Gain) }).Gain
	})
	if chosen[best].Batch == jobs[best].options[0].Batch {
		return Change{}, false
	}
	return jobs[best].change(chosen[best]), true
}

func (j batchChoice) change(to goodput.Option) Change {
	key := bus.AdviceKey(j.UID)
	change := Change{Job: j.UID, Pod: j.Sample.Pod, Advice: &bus.Advice{}, Guard: bus.Absent(key)}
	if j.Advice != nil {
		*change.Advice, change.Guard = *j.Advice, bus.Unchanged(key, j.AdviceRevision)
	}
	change.Advice.Generation = 1 + min(math.MaxInt64-1, max(change.Advice.Generation, j.Sample.Generation))
	change.Advice.BatchSize = &to.Batch
	change.Advice.BatchReason = j.reason(to)
	return change
}

// batchText is the advised batch size for the log.
func batchText(a *bus.Advice) string {
	if a.BatchSize == nil {
		return "the job's own"
	}
	return fmt.Sprint(*a.BatchSize)
}

// reason explains the change to the user.
func (j batchChoice) reason(to goodput.Option) string {
	known, now := j.Sample.Batch, j.options[0]
	text := fmt.Sprintf("%.0f %% more goodput predicted; a step %.3g → %.3g s, a sample worth %.2f → %.2f of one at %d",
		100*(to.Gain-1), float64(now.Step), float64(to.Step), known.Efficiency(now.Batch), known.Efficiency(to.Batch), known.Range.Default)
	low, high := known.Noise.Scale()
	if math.IsInf(high, 1) {
		return text + "; the noise of its gradients is unknown"
	}
	return fmt.Sprintf("%s; noise scale of its gradients %.3g to %.3g samples", text, low, high)
}
