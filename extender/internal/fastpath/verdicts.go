package fastpath

import (
	"math"
	"sync/atomic"

	"github.com/trellis-gpu/trellis/growth/placement"
)

// maxQuestions is the number of questions whose verdicts are cached. Clusters request a handful of sizes.
const maxQuestions = 16

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
	scores   []score
	statuses []atomic.Pointer[status]
}

// score is the verdict on a version where the pod fits. It takes two words, so that thousands of slots lie next to one
// another: most nodes fit most of the time.
type score struct {
	version atomic.Uint64 // 0 for none, locked while value is being written
	value   atomic.Uint64
}

// locked is no version.
const locked = math.MaxUint64

type status struct {
	version uint64
	placement.Status
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
		case len(verdicts.scores) >= slots:
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
	next := &Verdicts{question: v.question, scores: make([]score, slots), statuses: make([]atomic.Pointer[status], slots)}
	for i := range v.scores {
		version := v.scores[i].version.Load()
		if value, ok := v.scores[i].get(version); ok && version != 0 {
			next.scores[i].put(version, value)
		}
		next.statuses[i].Store(v.statuses[i].Load())
	}
	return next
}

// Get returns the cached verdict on the version in a slot.
func (v *Verdicts) Get(s Slot) (Verdict, bool) {
	if value, ok := v.scores[s.Number].get(s.version); ok {
		return Verdict{Score: value}, true
	}
	unfit := v.statuses[s.Number].Load()
	if unfit != nil && unfit.version == s.version {
		return Verdict{Status: &unfit.Status}, true
	}
	return Verdict{}, false
}

// Put caches the verdict on the version in a slot.
func (v *Verdicts) Put(s Slot, verdict Verdict) {
	if verdict.Status != nil {
		v.statuses[s.Number].Store(&status{s.version, *verdict.Status})
		return
	}
	v.scores[s.Number].put(s.version, verdict.Score)
}

func (s *score) get(version uint64) (placement.Score, bool) {
	if version == locked || s.version.Load() != version {
		return 0, false
	}
	value := s.value.Load()
	// The version is read again: a concurrent put may have changed the value in between.
	return placement.Score(math.Float64frombits(value)), s.version.Load() == version
}

// put gives way to a concurrent put: the slot then has that score or none.
func (s *score) put(version uint64, value placement.Score) {
	before := s.version.Load()
	if before != locked && s.version.CompareAndSwap(before, locked) {
		s.value.Store(math.Float64bits(float64(value)))
		s.version.Store(version)
	}
}
