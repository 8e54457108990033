package extenderbench

import (
	"context"
	"slices"
	"time"
)

// turn is what one contestant took for its answers in one round.
type turn struct {
	took times
	// stolen is which part of the machine's time its hypervisor gave to others meanwhile, in per cent.
	stolen float64
	// aside is which part of one core programs computed for meanwhile that have no part in the answers.
	aside float64
}

// calm is the part of the machine's time, in per cent, that its hypervisor may give to others without a turn being taken again.
const calm = 1

// unrest is how far the machine was from calm meanwhile; up to 1 it was.
func (t turn) unrest() float64 { return max(t.stolen/calm, t.aside/restless) }

// watched asks, and sees what the machine does meanwhile for others, of whose programs aside is what they have computed in
// their lives.
func watched(aside func() time.Duration, ask func() (times, error)) (turn, error) {
	clocksBefore, asideBefore, begun := clocks(), aside(), time.Now()
	took, err := ask()
	return turn{took, clocks().stolenSince(clocksBefore), float64(aside()-asideBefore) / float64(time.Since(begun))}, err
}

// Unrest comes in waves of some ten seconds. Between attempts it is waited, twice as long each time, until it may have passed.
const (
	firstPause = 250 * time.Millisecond
	mostPause  = 10 * time.Second
)

// calmest has a turn taken until the machine was calm meanwhile, Attempts times at most. It returns the calmest one, and all of
// them. It never goes by how long an answer took.
func (b *bench) calmest(ctx context.Context, take func() (turn, error)) (best turn, all []turn, err error) {
	for pause := firstPause; len(all) < b.Attempts; {
		if len(all) > 0 {
			if err := wait(ctx, pause); err != nil {
				return turn{}, nil, err
			}
			pause = min(2*pause, mostPause)
		}
		t, err := take()
		if err != nil {
			return turn{}, nil, err
		}
		if all = append(all, t); len(all) == 1 || t.unrest() < best.unrest() {
			best = t
		}
		if best.unrest() <= 1 {
			break
		}
	}
	return best, all, nil
}

func wait(ctx context.Context, pause time.Duration) error {
	select {
	case <-time.After(pause):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
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
