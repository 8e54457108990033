package extenderbench

import (
	"context"
	"slices"
	"time"
)

// turn is the result of one contestant in one round.
type turn struct {
	took times
	// stolen is the steal time during the turn, in per cent of all processor time.
	stolen float64
	// otherCPU is the part of one core that the API server and its etcd used during the turn.
	otherCPU float64
}

// maxStolen bounds the steal time of a calm turn, in per cent.
const maxStolen = 1

// disturbance is the larger of steal time and other CPU time, each relative to its limit. A turn is calm up to 1.
func (t turn) disturbance() float64 { return max(t.stolen/maxStolen, t.otherCPU/maxOtherCPU) }

// measureTurn calls send and measures disturbances during the call. otherCPU returns the CPU time of other programs.
func measureTurn(otherCPU func() time.Duration, send func() (times, error)) (turn, error) {
	ticksBefore, otherCPUBefore, start := readTicks(), otherCPU(), time.Now()
	took, err := send()
	return turn{took, readTicks().stolenSince(ticksBefore), float64(otherCPU()-otherCPUBefore) / float64(time.Since(start))}, err
}

// Disturbances last about ten seconds. The pause between two attempts doubles each time.
const (
	firstPause = 250 * time.Millisecond
	maxPause   = 10 * time.Second
)

// calmest repeats a turn until one is calm, Attempts times at most. It returns the calmest turn, and all turns. The times
// of the requests do not influence the choice.
func (b *bench) calmest(ctx context.Context, take func() (turn, error)) (best turn, all []turn, err error) {
	for pause := firstPause; len(all) < b.Attempts; {
		if len(all) > 0 {
			if err := wait(ctx, pause); err != nil {
				return turn{}, nil, err
			}
			pause = min(2*pause, maxPause)
		}
		t, err := take()
		if err != nil {
			return turn{}, nil, err
		}
		if all = append(all, t); len(all) == 1 || t.disturbance() < best.disturbance() {
			best = t
		}
		if best.disturbance() <= 1 {
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

// allTimes returns the times of all turns.
func allTimes(turns []turn) times {
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
