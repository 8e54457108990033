package modelcheck

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

var (
	steps = flag.String("steps", "", "steps to replay, as printed by a failure")
	total = flag.Int("total", 0, "number of steps of TestInvariants_RandomRuns; 0 for its default")
	first = flag.Uint64("seed", 1, "the first seed of TestInvariants_RandomRuns")
)

// runLength is the number of steps of a run.
const runLength = 400

func TestInvariants_RandomRuns(t *testing.T) {
	want := *total
	if want == 0 {
		want = defaultTotal
	}
	taken, seed := 0, *first
	for ; taken < want; seed++ {
		all := randomSteps(seed, runLength)
		failure, after := run(all, faults{})
		taken += after
		if failure != "" {
			t.Fatal(report(seed, all[:after], failure, faults{}))
		}
	}
	t.Logf("%d steps in %d runs, seeds %d to %d", taken, seed-*first, *first, seed-1)
}

func TestReplay(t *testing.T) {
	if *steps == "" {
		t.Skip("needs -steps")
	}
	all, err := parse(*steps)
	require.NoError(t, err)
	failure, after := run(all, faults{})
	require.Empty(t, failure, "after %d steps", after)
}

// faults are planted faults. The check must find each.
type faults struct {
	noCAS, noEpochs, noExpiry, duplicated, noReconcile bool
}

// commit applies the faults to a commit.
func (f faults) commit(writes []bus.Write, guards []bus.Guard) ([]bus.Write, []bus.Guard) {
	writes = slices.Clone(writes)
	switch {
	case f.noCAS:
		guards = nil
	case f.noEpochs:
		writes = writes[:1]
	case f.noExpiry:
		for i := range writes {
			writes[i].Lifetime = bus.Persistent
		}
	}
	return writes, guards
}

// duplicate counts each allocation twice, like a reader that adds up events.
func duplicated(b bus.Batch) bus.Batch {
	for _, e := range slices.Clone(b.Entries) {
		if key, err := bus.ParseKey(e.Key); err == nil && key.Kind == bus.KindAllocation {
			e.Key = bus.AllocationKey(key.Node, key.Pod+growth.PodUID("-again"))
			b.Entries = append(b.Entries, e)
		}
	}
	return b
}

func TestInvariants_PlantedFaultsAreFound(t *testing.T) {
	for name, tc := range map[string]struct {
		planted faults
		breaks  string
	}{
		"reservations without compare-and-swap": {faults{noCAS: true}, "balance"},
		"epochs are not written":                {faults{noEpochs: true}, "balance"},
		"reservations do not expire":            {faults{noExpiry: true}, "rest"},
		"allocations are counted twice":         {faults{duplicated: true}, "rest"},
		"plans are not reconciled":              {faults{noReconcile: true}, "rest"},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(100) {
				all := randomSteps(seed, runLength)
				failure, after := run(all, tc.planted)
				if failure == "" {
					continue
				}
				require.Contains(t, failure, tc.breaks)
				short := shrink(all[:after], failure, tc.planted)
				again, _ := run(short, tc.planted)
				require.Equal(t, kind(failure), kind(again), "the short run fails with the same invariant")
				without, _ := run(short, faults{})
				require.Empty(t, without, "without the fault the short run is fine")
				t.Logf("seed %d, %d steps shrink to %d: %s\n%s", seed, after, len(short), again, format(short))
				return
			}
			t.Fatal("not found")
		})
	}
}

// kind returns the name of an invariant.
func kind(failure string) string { name, _, _ := strings.Cut(failure, ":"); return name }

// shrink removes steps while the same invariant fails.
func shrink(all []step, failure string, f faults) []step {
	for size := len(all) / 2; size > 0; {
		smaller := false
		for at := 0; at < len(all); {
			without := slices.Concat(all[:at], all[min(at+size, len(all)):])
			if now, after := run(without, f); kind(now) == kind(failure) {
				all, smaller = without[:after], true
				continue
			}
			at += size
		}
		if !smaller || size > 1 {
			size /= 2
		}
	}
	return all
}

func report(seed uint64, all []step, failure string, f faults) string {
	short := shrink(all, failure, f)
	again, _ := run(short, f)
	return fmt.Sprintf("seed %d: ", seed) + failure + "\nshrunk: " + again + "\n-steps '" + format(short) + "'"
}
