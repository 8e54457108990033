package model

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
	steps = flag.String("steps", "", "steps to replay, as a failure prints them")
	total = flag.Int("total", 0, "how many steps TestTheBooksStayTrue takes in all; 0 for its default")
	first = flag.Uint64("seed", 1, "the first seed of TestTheBooksStayTrue")
)

// long is a run's length in steps.
const long = 400

func TestTheBooksStayTrue(t *testing.T) {
	want := *total
	if want == 0 {
		want = defaultTotal
	}
	taken, seed := 0, *first
	for ; taken < want; seed++ {
		all := drawn(seed, long)
		broken, after := run(all, faults{})
		if taken += after; broken != "" {
			t.Fatal(report(seed, all[:after], broken, faults{}))
		}
	}
	t.Logf("%d steps in %d runs, seeds %d to %d", taken, seed-*first, *first, seed-1)
}

func TestReplay(t *testing.T) {
	if *steps == "" {
		t.Skip("needs -steps")
	}
	all, err := parsed(*steps)
	require.NoError(t, err)
	broken, after := run(all, faults{})
	require.Empty(t, broken, "after %d steps", after)
}

// faults are planted to see each found.
type faults struct {
	noCAS, noEpochs, noExpiry, doubled, noSweep bool
}

// commit spoils a commit.
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

// doubled has each reservation and allocation counted twice, as a reader would that adds up events.
func doubled(b bus.Batch) bus.Batch {
	for _, e := range slices.Clone(b.Entries) {
		if key, err := bus.ParseKey(e.Key); err == nil && key.Kind == bus.KindAllocation {
			e.Key = bus.AllocationKey(key.Node, key.Pod+growth.PodUID("-again"))
			b.Entries = append(b.Entries, e)
		}
	}
	return b
}

func TestPlantedFaultsAreFound(t *testing.T) {
	for name, tc := range map[string]struct {
		planted faults
		breaks  string
	}{
		"reservations without compare-and-swap": {faults{noCAS: true}, "balance"},
		"epochs are not written":                {faults{noEpochs: true}, "balance"},
		"reservations do not expire":            {faults{noExpiry: true}, "rest"},
		"an allocation is counted twice":        {faults{doubled: true}, "rest"},
		"nothing is swept":                      {faults{noSweep: true}, "rest"},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(100) {
				all := drawn(seed, long)
				broken, after := run(all, tc.planted)
				if broken == "" {
					continue
				}
				require.Contains(t, broken, tc.breaks)
				short := shrunk(all[:after], broken, tc.planted)
				again, _ := run(short, tc.planted)
				require.Equal(t, kind(broken), kind(again), "the short run breaks the same invariant, again")
				without, _ := run(short, faults{})
				require.Empty(t, without, "without the fault the short run is fine")
				t.Logf("seed %d, %d steps shrunk to %d: %s\n%s", seed, after, len(short), again, printed(short))
				return
			}
			t.Fatal("not found")
		})
	}
}

// kind is an invariant's name.
func kind(broken string) string { name, _, _ := strings.Cut(broken, ":"); return name }

// shrunk leaves out steps as long as the same invariant breaks.
func shrunk(all []step, broken string, f faults) []step {
	for size := len(all) / 2; size > 0; {
		smaller := false
		for at := 0; at < len(all); {
			without := slices.Concat(all[:at], all[min(at+size, len(all)):])
			if now, after := run(without, f); kind(now) == kind(broken) {
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

func report(seed uint64, all []step, broken string, f faults) string {
	short := shrunk(all, broken, f)
	again, _ := run(short, f)
	return fmt.Sprintf("seed %d: ", seed) + broken + "\nshrunk: " + again + "\n-steps '" + printed(short) + "'"
}
