package advise

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/goodput"
	"github.com/trellis-gpu/trellis/growth/gpushare"

	"github.com/trellis-gpu/trellis/tuner/internal/history"
)

// offerTime is the time for which other jobs of its GPUs wait for a job to take the size of its advice, and again for it to try the size and
// go back from it. Jobs change their size between two epochs, or never.
const offerTime = 15 * time.Minute

// offer is a batch size that a job may change to at any time: one that it still has to try, or to go back from. For a job that tries a size
// it is the one before.
type offer struct {
	size   int // 0 if it is unknown
	before int // the job's size at the time
	trying bool
	since  time.Time
}

// next returns what a job is offered after another look at it.
func (o offer) next(j history.Job, now time.Time) offer {
	if j.Sample.Batch.Trying {
		if !o.trying {
			o = offer{size: o.before, trying: true, since: now}
		}
		return o
	}
	if o.trying || o.since.IsZero() || o.size != *j.Advice.BatchSize {
		o = offer{size: *j.Advice.BatchSize, since: now}
	}
	o.before = *j.Sample.BatchSize
	return o
}

// trackOffers updates since when jobs are undecided, or try a size.
func (a *Adviser) trackOffers(s *history.Snapshot, now time.Time) {
	next := map[growth.PodUID]offer{}
	for _, j := range s.Jobs {
		if j.Sample != nil && batchTunable(j) && (j.Sample.Batch.Trying || undecided(j)) {
			next[j.UID] = a.offers[j.UID].next(j, now)
		}
	}
	a.offers = next
}

// adviseBatches returns the changes of batch sizes on a node: of the jobs of connected GPUs one at a time, because a trial measures the
// effect of one change. Jobs whose advice changes already are left for the next round.
func (a *Adviser) adviseBatches(node history.Node, jobs []history.Job, changing []Change, now time.Time) []Change {
	var changes []Change
	memory := memoryOf(node)
	for _, group := range connectGPUs(jobs) {
		choices, free := a.batchChoices(group, changing, now)
		if !free {
			continue
		}
		if change, ok := chooseBatch(choices, memory); ok {
			changes = append(changes, change)
		}
	}
	return changes
}

// batchChoice is a job with the sizes that it can change to, its present one first.
type batchChoice struct {
	history.Job
	options []goodput.Option
}

// batchChoices returns the choices for jobs of connected GPUs. free is false while the size of one of them is about to change.
func (a *Adviser) batchChoices(group []history.Job, changing []Change, now time.Time) (choices []batchChoice, free bool) {
	for _, j := range group {
		if !batchTunable(j) {
			continue
		}
		options := j.Sample.Batch.Options(*j.Sample.BatchSize)
		offered, waits := a.offers[j.UID]
		switch {
		case waits && now.Sub(offered.since) < offerTime:
			return nil, false
		case waits:
			options = []goodput.Option{j.Sample.Batch.Either(*j.Sample.BatchSize, offered.size)}
		case slices.ContainsFunc(changing, func(c Change) bool { return c.Job == j.UID }):
			continue
		}
		if len(options) > 0 {
			choices = append(choices, batchChoice{Job: j, options: options})
		}
	}
	return choices, len(choices) > 0
}

// connectGPUs groups jobs so that no GPU has jobs in two groups. A job without a GPU is on its own.
func connectGPUs(jobs []history.Job) [][]history.Job {
	var groups [][]history.Job
	for _, j := range jobs {
		shares := func(other history.Job) bool {
			return slices.ContainsFunc(j.Sample.GPUs, func(gpu growth.GPU) bool { return slices.Contains(other.Sample.GPUs, gpu) })
		}
		var group []history.Job
		groups = slices.DeleteFunc(groups, func(other []history.Job) bool {
			if !slices.ContainsFunc(other, shares) {
				return false
			}
			group = append(group, other...)
			return true
		})
		groups = append(groups, append(group, j))
	}
	return groups
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

// memoryOf returns the memory of the GPUs of a node, as far as they have some and it is known.
func memoryOf(node history.Node) map[growth.GPU]growth.MiB {
	memory := map[growth.GPU]growth.MiB{}
	if node.GPUs != nil && !node.GPUs.Emulated {
		for _, g := range node.GPUs.GPUs {
			memory[g.UUID] = g.Memory
		}
	}
	return memory
}

// chooseBatch chooses sizes for all jobs of connected GPUs, of which there is at least one, and returns the change with the largest gain.
func chooseBatch(choices []batchChoice, memory map[growth.GPU]growth.MiB) (Change, bool) {
	jobs := make([]goodput.Job, len(choices))
	for i, j := range choices {
		jobs[i] = goodput.Job{GPUs: j.Sample.GPUs, Options: j.options}
	}
	chosen := goodput.Together(jobs, memory)
	best := 0
	for i, o := range chosen {
		if o.Gain > chosen[best].Gain {
			best = i
		}
	}
	if chosen[best].Batch == choices[best].options[0].Batch {
		return Change{}, false
	}
	return choices[best].change(chosen[best]), true
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
