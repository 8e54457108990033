package cache

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
)

// TestRollIsAMapThatNeverChanges applies random batches of changes, comings and goings to a Roll and to its dumb twin,
// Go's own map, and looks at all Rolls again when they are old. No two pictures ever share a place and a number.
func TestRollIsAMapThatNeverChanges(t *testing.T) {
	for seed := range uint64(20) {
		dice := rand.New(rand.NewPCG(seed, 0))
		var rolls []Roll
		var twins []map[growth.NodeName]*Node
		roll, twin := Roll{}, map[growth.NodeName]*Node{}
		type spot struct {
			place   int
			picture uint64
		}
		seen := map[spot]*Node{}
		for range 60 {
			rolls, twins = append(rolls, roll), append(twins, maps.Clone(twin))
			var changed []growth.NodeName
			leaving := dice.IntN(4) // few, or most: then places are given out anew
			for range dice.IntN(80) {
				name := growth.NodeName(strconv.Itoa(dice.IntN(400)))
				changed = append(changed, name)
				if dice.IntN(4) < leaving {
					delete(twin, name)
					continue
				}
				twin[name] = &Node{}
			}
			before := roll.Pictures()
			roll = roll.With(slices.Values(changed), func(name growth.NodeName) *Node { return twin[name] })
			require.GreaterOrEqual(t, roll.Pictures(), before)
			seats := roll.Seats()
			for name, here := range twin {
				seat := seats.Next(name)
				before, known := seen[spot{seat.Place, seat.picture}]
				require.True(t, !known || before == here, "a verdict on one picture would be taken for one on another")
				seen[spot{seat.Place, seat.picture}] = here
				require.Less(t, seat.Place, roll.Places())
			}
		}
		for i := range rolls {
			require.Equal(t, twins[i], maps.Collect(rolls[i].All()))
			require.Equal(t, len(twins[i]), rolls[i].Len())
			inOrder, seats := slices.Collect(maps.Keys(maps.Collect(rolls[i].All()))), rolls[i].Seats()
			for name := range rolls[i].All() {
				inOrder = append(inOrder, name)
			}
			for n := range 400 {
				inOrder = append(inOrder, growth.NodeName(strconv.Itoa(n)))
			}
			for _, name := range inOrder { // in any order, in the Roll's own, and those that are not there
				require.Same(t, twins[i][name], rolls[i].Seat(name).Node)
				require.Same(t, twins[i][name], seats.Next(name).Node)
			}
		}
	}
}

// TestOldRollsAreReadWhileNewOnesAreMade is for the race detector.
func TestOldRollsAreReadWhileNewOnesAreMade(t *testing.T) {
	var wg sync.WaitGroup
	defer wg.Wait()
	roll := Roll{}
	for i := range 300 {
		added := growth.NodeName(strconv.Itoa(i))
		roll = roll.With(slices.Values([]growth.NodeName{added, "0"}), func(growth.NodeName) *Node { return &Node{} })
		if old := roll; i%10 == 0 {
			wg.Go(func() {
				for n := range 300 {
					if known := old.Seat(growth.NodeName(strconv.Itoa(n))).Node != nil; known != (n <= i) {
						t.Errorf("a roll of %d nodes, asked about node %d: %v", i+1, n, known)
					}
				}
			})
		}
	}
}

func TestTheZeroRollIsEmpty(t *testing.T) {
	var none Roll
	require.Nil(t, none.Seat("a").Node)
	require.Empty(t, maps.Collect(none.All()))
	emptied := none.With(slices.Values([]growth.NodeName{"a"}), func(growth.NodeName) *Node { return nil })
	require.Zero(t, emptied.Len())
}
