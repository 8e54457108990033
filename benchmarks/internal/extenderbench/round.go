package extenderbench

import "slices"

// round is a turn of every contestant.
type round struct {
	// turns are the times of each contestant's answers.
	turns []times
	// stolen is which part of the machine's time its hypervisor gave to others, in per cent, in the turn in which it was most.
	stolen float64
}

// askRound gives n contestants their turns, in the order of the i-th round.
func askRound(i, n int, turn func(who int) (times, error)) (round, error) {
	r := round{turns: make([]times, n)}
	for _, who := range interleaved(n, i) {
		before := clocks()
		taken, err := turn(who)
		if err != nil {
			return round{}, err
		}
		r.turns[who], r.stolen = taken, max(r.stolen, clocks().stolenSince(before))
	}
	return r, nil
}

// calm is the part of the machine's time, in per cent, that its hypervisor may give to others without a round being asked again.
const calm = 1

// calmest asks a round until the machine was calm meanwhile, Attempts times at most. It returns the calmest one, and all of
// them. It goes by what the hypervisor took alone, and never by how long an answer took.
func (b *bench) calmest(ask func() (round, error)) (best round, all []round, err error) {
	for range b.Attempts {
		r, err := ask()
		if err != nil {
			return round{}, nil, err
		}
		if all = append(all, r); len(all) == 1 || r.stolen < best.stolen {
			best = r
		}
		if best.stolen <= calm {
			break
		}
	}
	return best, all, nil
}

// turnsOf are all that one contestant's answers took in some rounds.
func turnsOf(rounds []round, who int) times {
	var all []times
	for _, r := range rounds {
		all = append(all, r.turns[who])
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
