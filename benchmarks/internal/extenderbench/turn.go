package extenderbench

import "slices"

// turn is what one contestant took for its answers in one round.
type turn struct {
	took times
	// stolen is which part of the machine's time its hypervisor gave to others meanwhile, in per cent.
	stolen float64
}

// watched asks, and sees what is stolen meanwhile.
func watched(ask func() (times, error)) (turn, error) {
	before := clocks()
	took, err := ask()
	return turn{took, clocks().stolenSince(before)}, err
}

// calm is the part of the machine's time, in per cent, that its hypervisor may give to others without a turn being taken again.
const calm = 1

// calmest has a turn taken until the machine was calm meanwhile, Attempts times at most. It returns the calmest one, and all of
// them. It goes by what the hypervisor took alone, and never by how long an answer took.
func (b *bench) calmest(take func() (turn, error)) (best turn, all []turn, err error) {
	for range b.Attempts {
		t, err := take()
		if err != nil {
			return turn{}, nil, err
		}
		if all = append(all, t); len(all) == 1 || t.stolen < best.stolen {
			best = t
		}
		if best.stolen <= calm {
			break
		}
	}
	return best, all, nil
}

// taken are all times of some turns.
func taken(turns []turn) times {
	var all []times
	for _, t := range turns {
		all = append(all, t.took)
	}
	return slices.Concat(all...)
}

// interleaved is the order in which rounds take n contestants: forward, backward, forward …
func interleaved(n, round int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	if round%2 == 1 {
		slices.Reverse(order)
	}
	return order
}
