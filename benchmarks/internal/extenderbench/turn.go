package extenderbench

import (
	"context"
	"slices"
	"time"
)

// turn has the times of one contestant in one round.
type turn struct {
	took times
	// stolen is the part of the machine's time that the hypervisor took meanwhile, in per cent.
	stolen float64
	// aside is the part of one core that uninvolved programs used meanwhile.
	aside float64
}

// calm is the part of the machine's time, in per cent, that the hypervisor may take in a turn that counts.
const calm = 1

// unrest measures the disturbance of a turn; up to 1 the machine was calm.
func (t turn) unrest() float64 { return max(t.stolen/calm, t.aside/restless) }

// watched runs ask and measures the disturbance meanwhile. aside returns the CPU time of uninvolved programs.
func watched(aside func() time.Duration, ask func() (times, error)) (turn, error) {
	clocksBefore, asideBefore, begun := clocks(), aside(), time.Now()
	took, err := ask()
	return turn{took, clocks().stolenSince(clocksBefore), float64(aside()-asideBefore) / float64(time.Since(begun))}, err
}

// Disturbances last some ten seconds. The pause between attempts doubles each time.
const (
	firstPause = 250 * time.Millisecond
	mostPause  = 10 * time.Second
)

// calmest repeats a turn until the machine was calm, Attempts times at most. It returns the calmest turn and all of
// them. The times of the answers do not matter.
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

// taken returns the times of all turns.
func taken(turns []turn) times {
	var all []times
	for _, t := range turns {
		all = append(all, t.took)
	}
	return slices.Concat(all...)
}

// interleaved returns the order of n contestants in a round: forward, backward, forward …
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
