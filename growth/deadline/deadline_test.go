package deadline_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/deadline"
)

func TestDegree_HasTheIntervalOfTheRemainingTime(t *testing.T) {
	remaining := deadline.Interval{Low: 60, Likely: 100, High: 150}
	for name, tc := range map[string]struct {
		toDeadline  growth.Seconds
		want        deadline.Degree
		late, early bool
	}{
		"early":        {200, deadline.Degree{Low: -140, Likely: -100, High: -50}, false, true},
		"perhaps late": {120, deadline.Degree{Low: -60, Likely: -20, High: 30}, false, false},
		"late":         {80, deadline.Degree{Low: -20, Likely: 20, High: 70}, true, false},
		"after it":     {-10, deadline.Degree{Low: 70, Likely: 110, High: 160}, true, false},
		"without a deadline": {growth.Seconds(math.Inf(1)), deadline.Degree{
			Low: growth.Seconds(math.Inf(-1)), Likely: growth.Seconds(math.Inf(-1)), High: growth.Seconds(math.Inf(-1)),
		}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			got := deadline.DegreeOf(remaining, tc.toDeadline)
			require.Equal(t, tc.want, got)
			require.Equal(t, tc.late, got.Late())
			require.Equal(t, tc.early, got.Early())
		})
	}
}

// Qore-DL multiplies a time that is negative for overdue jobs, which turns its preferences around. Work is never negative.
func TestFirst(t *testing.T) {
	order := func(claims ...deadline.Claim) (names string) {
		slices.SortFunc(claims, deadline.First)
		for _, c := range claims {
			names += c.Name
		}
		return names
	}
	claim := func(name string, work growth.Work, left growth.Seconds, weight float64) deadline.Claim {
		return deadline.Claim{Name: name, Work: work, ToDeadline: left, Weight: weight}
	}
	require.Equal(t, "cab", order(claim("a", 10, 5, 1), claim("b", 20, 1, 1), claim("c", 5, 9, 1)), "least work first")
	require.Equal(t, "ba", order(claim("a", 10, 5, 1), claim("b", 15, 5, 2)), "weight 2 halves the work")
	require.Equal(t, "ba", order(claim("a", 10, 9, 1), claim("b", 10, 5, 1)), "then the earlier deadline")
	require.Equal(t, "ba", order(claim("a", 10, 9, 1), claim("b", 10, -5, 1)), "also if it has passed")
	require.Equal(t, "ab", order(claim("b", 10, 5, 1), claim("a", 10, 5, 1)), "ties by name")
	require.Equal(t, "ba", order(claim("a", growth.Work(math.NaN()), 5, 1), claim("b", 10, 5, math.Inf(1))), "invalid numbers come last or count as 1")
}

// Qore-DL adds noise to its priorities, so that the order is partly random.
func TestFirst_IsAnOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	claims := make([]deadline.Claim, 60)
	for i := range claims {
		claims[i] = deadline.Claim{
			Name:       strconv.Itoa(i),
			Work:       growth.Work(rng.IntN(3)),
			ToDeadline: growth.Seconds(rng.IntN(9) - 4),
			Weight:     float64(rng.IntN(3)),
		}
	}
	slices.SortFunc(claims, deadline.First)
	want := slices.Clone(claims)
	for range 20 {
		rng.Shuffle(len(claims), func(i, j int) { claims[i], claims[j] = claims[j], claims[i] })
		slices.SortFunc(claims, deadline.First)
		require.Equal(t, want, claims)
	}
}

func option(name string, resource float64, seconds growth.Seconds) deadline.Option {
	return deadline.Option{Name: name, Resource: resource, Time: deadline.Certain(seconds)}
}

func TestSensitivity_IsTimePerResource(t *testing.T) {
	now := option("now", 0.5, 100)
	require.InDelta(t, 200, deadline.Sensitivity(now, option("more", 0.75, 50)), 1e-9)
	require.InDelta(t, 400, deadline.Sensitivity(now, option("less", 0.25, 200)), 1e-9)
	require.Negative(t, deadline.Sensitivity(now, option("slower with more", 0.75, 120)))
	require.Zero(t, deadline.Sensitivity(now, option("same", 0.5, 50)))
	require.Zero(t, deadline.Sensitivity(now, option("invalid", 0.7, growth.Seconds(math.NaN()))))
}

// Qore-DL subtracts the cost of a restart with the wrong sign: a more expensive one is more attractive.
func TestRestart_NeverMakesAnOptionMoreAttractive(t *testing.T) {
	now := option("now", 0.5, 100)
	last := math.Inf(1)
	for _, cost := range []growth.Seconds{-10, 0, 10, 25, 100, 1000} {
		wider := option("wider", 0.75, 60)
		wider.Restart = cost
		got := deadline.Sensitivity(now, wider)
		require.LessOrEqual(t, got, last)
		last = got
		best, _ := deadline.InTime([]deadline.Option{now, wider}, 70)
		require.Equal(t, cost < 40, best.Name == "wider", "cost %v", cost)
	}
}

func TestOptions_LeastSufficientResource(t *testing.T) {
	options := []deadline.Option{option("c", 0.3, 90), option("a", 0.2, 120), option("b", 0.4, 80)}
	for toDeadline, want := range map[growth.Seconds]string{130: "a", 100: "c", 85: "b", 10: "b", -50: "b"} {
		best, found := deadline.InTime(options, toDeadline)
		require.True(t, found)
		require.Equal(t, want, best.Name, "%v s", toDeadline)
	}
	uncertain := option("u", 0.1, 90)
	uncertain.Time.High = 110
	best, _ := deadline.InTime(append(options, uncertain), 100)
	require.Equal(t, "c", best.Name, "the upper end of the interval must be in time")
	_, found := deadline.InTime(nil, 10)
	require.False(t, found)
	_, found = deadline.InTime([]deadline.Option{option("nan", 0.1, growth.Seconds(math.NaN()))}, 10)
	require.False(t, found)
}

// Qore-DL's genetic algorithm misses the best point in half of the cases.
func TestBest_EqualsBruteForce(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 2))
		options := make([]deadline.Option, 1+rng.IntN(64))
		for i := range options {
			options[i] = option(strconv.Itoa(rng.IntN(100)), float64(rng.IntN(8))/8, growth.Seconds(rng.IntN(12)))
		}
		score := func(o deadline.Option) float64 { return -float64(o.Time.Likely) * (1 + o.Resource) }
		got, found := deadline.Best(options, score)
		require.True(t, found)
		for _, o := range options {
			better := score(o) > score(got) || score(o) == score(got) &&
				(o.Resource < got.Resource || o.Resource == got.Resource && o.Name < got.Name)
			require.False(t, better, "%+v is better than %+v", o, got)
		}
		rng.Shuffle(len(options), func(i, j int) { options[i], options[j] = options[j], options[i] })
		again, _ := deadline.Best(options, score)
		require.Equal(t, got, again, "the order of the input does not matter")
	}
}
