package extenderbench

import (
	"context"
	"encoding/json"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/trellis-gpu/trellis/benchmarks/internal/hiccup"
)

// answer is how long filter and prioritize took together for one pod, and the time in which both were asked.
type answer struct {
	took  time.Duration
	asked hiccup.Span
}

type answers []answer

// askAll asks filter and then prioritize about so many pods.
func askAll(ctx context.Context, a *asker, q *questions, nodes json.RawMessage, pods int) (answers, error) {
	runtime.GC() // now, and not while it is measured how long somebody else takes
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var all answers
	for range pods {
		body, err := q.about(nodes)
		if err != nil {
			return nil, err
		}
		var one answer
		one.asked.From = hiccup.Now()
		for _, verb := range []string{"filter", "prioritize"} {
			took, err := a.time(ctx, verb, body)
			if err != nil {
				return nil, err
			}
			one.took += took
		}
		one.asked.To = hiccup.Now()
		all = append(all, one)
	}
	return all, nil
}

func (a answers) times() times {
	all := make(times, len(a))
	for i, one := range a {
		all[i] = one.took
	}
	return all
}

// Tail is how much longer than the median the slowest per cent of some questions takes at least.
type Tail struct {
	// P99OverP50 is of all of them, Calm of those during which the machine did not stand still. That one flatters: what takes
	// long meets a hiccup more easily, whoever made it long.
	P99OverP50, Calm float64
	// Still is how many those are, in per cent.
	Still float64
}

func (a answers) tail(still hiccup.Spans) Tail {
	var calm answers
	for _, one := range a {
		if !still.Meet(one.asked) {
			calm = append(calm, one)
		}
	}
	return Tail{a.times().tail(), calm.times().tail(), 100 * float64(len(a)-len(calm)) / float64(len(a))}
}
