package fastpath

import (
	"sync/atomic"

	"github.com/trellis-gpu/trellis/growth/placement"
)

// maxQuestions is the number of questions whose verdicts are cached. Clusters request a handful of sizes, for jobs of some
// tens of kinds. On 5,000 nodes, verdicts on one question take 0.3 MiB.
const maxQuestions = 64

// Question is everything that the verdict on one version of a node depends on. Policies are comparable values.
type Question struct {
	Policy placement.Policy
	Shape  placement.Shape
}

// Verdict is the answer for pods that hold nothing on the node.
type Verdict struct {
	// Status is why the pod does not fit, nil where it fits. It must not be changed.
	Status *placement.Status
	// Score is the score of the best GPUs, zero where the pod does not fit.
	Score placement.Score
}

// VerdictCache caches verdicts by question and slot. A verdict on one version of a node never changes, and between two
// pods one node of thousands gets a new version. The zero value is empty. It is safe for concurrent use.
type VerdictCache struct {
	cached atomic.Pointer[[]*Verdicts]
}

// Verdicts are the cached verdicts on one question, by slot. A concurrent Put may be lost; its verdict is then computed
// again.
type Verdicts struct {
	question Question
	slots    []atomic.Pointer[versioned]
}

// versioned is the verdict on one version of a node.
type versioned struct {
	version uint64
	verdict Verdict
}

// For returns the verdicts on a question, with room for a number of slots.
func (c *VerdictCache) For(q Question, slots int) *Verdicts {
	var cached []*Verdicts
	if loaded := c.cached.Load(); loaded != nil {
		cached = *loaded
	}
	next := &Verdicts{question: q}
	kept := make([]*Verdicts, 0, maxQuestions)
	for _, verdicts := range cached {
		switch {
		case verdicts.question != q:
			kept = append(kept, verdicts)
		case len(verdicts.slots) >= slots:
			return verdicts
		default:
			next = verdicts
		}
	}
	next = next.grow(slots + slots/4)
	kept = append(kept[max(0, len(kept)-maxQuestions+1):], next)
	c.cached.Store(&kept)
	return next
}

func (v *Verdicts) grow(slots int) *Verdicts {
	next := &Verdicts{question: v.question, slots: make([]atomic.Pointer[versioned], slots)}
	for i := range v.slots {
		next.slots[i].Store(v.slots[i].Load())
	}
	return next
}

// Get returns the cached verdict on the version in a slot.
func (v *Verdicts) Get(s Slot) (Verdict, bool) {
	cached := v.slots[s.Number].Load()
	if cached == nil || cached.version != s.version {
		return Verdict{}, false
	}
	return cached.verdict, true
}

// Put caches the verdict on the version in a slot.
func (v *Verdicts) Put(s Slot, verdict Verdict) {
	v.slots[s.Number].Store(&versioned{s.version, verdict})
}
