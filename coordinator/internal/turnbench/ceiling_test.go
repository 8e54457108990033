package turnbench

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// demand is what a job needs, as a round of plain sharing shows it. Times are in seconds from the start of the round.
type demand struct {
	name    string
	arrival float64
	ready   float64 // for its first step
	last    float64 // end of its last step
	ended   float64
	work    float64 // of the GPU, alone
}

// share sets the work of the jobs: of each moment, every job between its first and its last step has an equal part.
func share(jobs []demand) {
	var moments []float64
	for _, j := range jobs {
		moments = append(moments, j.ready, j.last)
	}
	slices.Sort(moments)
	for i := 1; i < len(moments); i++ {
		var on []*demand
		for k := range jobs {
			if jobs[k].ready < moments[i] && jobs[k].last > moments[i-1] {
				on = append(on, &jobs[k])
			}
		}
		for _, j := range on {
			j.work += (moments[i] - moments[i-1]) / float64(len(on))
		}
	}
}

// shortestFirst returns the completion time of each job if the one with the least work left always had the GPU, with sizes that are
// known exactly, nothing lost between two jobs, and no bound on harm. No order has a smaller mean of the times at which jobs that
// are ready end (Schrage, A proof of the optimality of the shortest remaining processing time discipline, 1968).
func shortestFirst(jobs []demand) map[string]float64 {
	left := slices.Clone(jobs)
	slices.SortFunc(left, func(a, b demand) int { return cmp.Compare(a.ready, b.ready) })
	done := map[string]float64{}
	for now := 0.0; len(left) > 0; {
		next, chosen := math.Inf(1), -1
		for i, j := range left {
			switch {
			case j.ready > now:
				next = min(next, j.ready)
			case chosen < 0 || j.work < left[chosen].work:
				chosen = i
			}
		}
		if chosen < 0 {
			now = next
			continue
		}
		j := &left[chosen]
		if end := now + j.work; end > next {
			j.work -= next - now
			now = next
			continue
		}
		now += j.work
		done[j.name] = now - j.arrival + j.ended - j.last
		left = slices.Delete(left, chosen, chosen+1)
	}
	return done
}

// ceiling returns the changes by shortestFirst relative to plain sharing, in per cent.
func ceiling(jobs []demand) map[string]float64 {
	base, best := round{jobs: map[string]outcome{}}, round{jobs: map[string]outcome{}}
	share(jobs)
	for name, completion := range shortestFirst(jobs) {
		best.jobs[name] = outcome{completion: completion}
	}
	for _, j := range jobs {
		base.jobs[j.name] = outcome{completion: j.ended - j.arrival}
	}
	return against(best, base)
}

func TestCeiling(t *testing.T) {
	t.Run("one job", func(t *testing.T) {
		jobs := []demand{{name: "a", arrival: 1, ready: 3, last: 8, ended: 9}}
		share(jobs)
		require.InDelta(t, 5, jobs[0].work, 1e-9)
		require.Equal(t, map[string]float64{"a": 8}, shortestFirst(jobs), "as it was")
	})
	// Both need 6 s to load. The long one computes alone until 8, and from 12 on; next to it, the short one makes 2 s of work in 4 s.
	jobs := func() []demand {
		return []demand{
			{name: "long", arrival: 0, ready: 6, last: 20, ended: 21},
			{name: "short", arrival: 2, ready: 8, last: 12, ended: 12},
		}
	}
	t.Run("a short job next to a long one", func(t *testing.T) {
		of := jobs()
		share(of)
		require.InDelta(t, 12, of[0].work, 1e-9)
		require.InDelta(t, 2, of[1].work, 1e-9)
		require.Equal(t, map[string]float64{"long": 21, "short": 8}, shortestFirst(of), "the short one interrupts the long one")
	})
	t.Run("the changes", func(t *testing.T) {
		changes := ceiling(jobs())
		require.InDelta(t, -100*2/31., changes["mean completion"], 1e-9)
		require.InDelta(t, -20, changes["best job"], 1e-9)
		require.InDelta(t, 0, changes["worst job"], 1e-9)
	})
}
