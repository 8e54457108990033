package advise_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/loader"

	"github.com/trellis-gpu/trellis/tuner/internal/advise"
	"github.com/trellis-gpu/trellis/tuner/internal/history"
)

// TestDecide_Reallocates has two cores and a job that gains from both, before a job arrives that gains more, while that runs,
// and after it has left.
func TestDecide_Reallocates(t *testing.T) {
	two := func(jobs ...history.Job) *history.Snapshot {
		s := oneCore(jobs...)
		s.Nodes[0].Load.LoaderBudget = 2
		return s
	}
	a := func(loaders int) history.Job { return job("a", .1, loaders, advised(1, loaders)) }
	b := job("b", .9, 2)
	for mode, want := range map[loader.Reallocate]struct{ later, arrival, departure loaders }{
		loader.Always:      {loaders{"a": 2}, loaders{"a": 0}, loaders{"a": 2}},
		loader.OnBoth:      {loaders{}, loaders{"a": 0}, loaders{"a": 2}},
		loader.OnArrival:   {loaders{}, loaders{"a": 0}, loaders{}},
		loader.OnDeparture: {loaders{}, loaders{}, loaders{"a": 2}},
		loader.Never:       {loaders{}, loaders{}, loaders{}},
	} {
		t.Run(string(mode), func(t *testing.T) {
			adviser := advise.Adviser{Policy: loader.DefaultChangePolicy(), Reallocate: mode}
			minute := func(n int) time.Time { return start.Add(time.Duration(n) * time.Minute) }
			adviser.Decide(two(a(1)), minute(0))
			require.Equal(t, want.later, loadersOf(adviser.Decide(two(a(1)), minute(10))))
			require.Equal(t, want.arrival, loadersOf(adviser.Decide(two(a(2), b), minute(20))))
			adviser.Decide(two(a(0), b), minute(21))
			adviser.Decide(two(a(0)), minute(30))
			require.Equal(t, want.departure, loadersOf(adviser.Decide(two(a(0)), minute(31))))
		})
	}
}
