package fastpath

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/placement"
)

// verdictOn is the verdict on a version, in these tests.
func verdictOn(version uint64) Verdict {
	if version%3 == 0 {
		return Verdict{Status: &placement.Status{Reason: strconv.FormatUint(version, 10)}}
	}
	return Verdict{Score: placement.Score(version)}
}

// TestVerdictCache_MatchesReference puts and gets verdicts on random questions. A cached verdict is the one that was put,
// and within the bounds the latest verdict of a slot is cached.
func TestVerdictCache_MatchesReference(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 0))
	var cache VerdictCache
	reference := referenceVerdicts{}
	latest := map[referenceKey]Slot{}
	for i := range 20_000 {
		q := Question{Shape: placement.Shape{Units: random.IntN(maxQuestions)}}
		slot := Slot{Number: random.IntN(50), version: 1 + random.Uint64N(20)}
		verdicts := cache.For(q, 50+i/1000)
		position := referenceKey{q, Slot{Number: slot.Number}}
		if random.IntN(2) == 0 {
			verdict := verdictOn(slot.version + uint64(q.Shape.Units))
			verdicts.Put(slot, verdict)
			reference[referenceKey{q, slot}] = verdict
			latest[position] = slot
			continue
		}
		got, ok := verdicts.Get(slot)
		if ok {
			require.Equal(t, reference[referenceKey{q, slot}], got)
		}
		require.True(t, ok || latest[position] != slot, "the latest verdict is not cached")
	}
}

// TestVerdictCache_ConcurrentUse puts and gets at once, on old versions and new ones, while the cache grows. A cached
// verdict is about the version it is requested for.
func TestVerdictCache_ConcurrentUse(t *testing.T) {
	const slots, versions = 4, 50
	var cache VerdictCache
	var wg sync.WaitGroup
	for seed := range uint64(8) {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(seed, 0))
			for i := range 5000 {
				verdicts := cache.For(Question{}, slots+i/100)
				slot := Slot{Number: random.IntN(slots), version: 1 + random.Uint64N(versions)}
				if random.IntN(2) == 0 {
					verdicts.Put(slot, verdictOn(slot.version))
				} else if verdict, ok := verdicts.Get(slot); ok && !equal(verdict, verdictOn(slot.version)) {
					t.Errorf("%+v is the verdict on version %d", verdict, slot.version)
				}
			}
		})
	}
	wg.Wait()
}

func equal(a, b Verdict) bool {
	return a.Score == b.Score && (a.Status == nil) == (b.Status == nil) && (a.Status == nil || *a.Status == *b.Status)
}

func TestVerdictCache_KeepsVerdictsWhenItGrows(t *testing.T) {
	var cache VerdictCache
	fits, full := Slot{Number: 0, version: 1}, Slot{Number: 1, version: 2}
	verdicts := cache.For(Question{}, 2)
	verdicts.Put(fits, Verdict{Score: 0.5})
	verdicts.Put(full, Verdict{Status: &placement.Status{Reason: "full"}})
	verdicts = cache.For(Question{}, 100)
	verdict, ok := verdicts.Get(fits)
	require.True(t, ok)
	require.Equal(t, Verdict{Score: 0.5}, verdict)
	verdict, ok = verdicts.Get(full)
	require.True(t, ok)
	require.Equal(t, "full", verdict.Status.Reason)
	for _, unknown := range []Slot{{0, 2}, {1, 1}, {99, 1}, {2, 1}} {
		_, ok = verdicts.Get(unknown)
		require.False(t, ok)
	}
}
