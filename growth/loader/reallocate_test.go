package loader_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/loader"
)

func TestReallocate_Validate(t *testing.T) {
	for _, r := range []loader.Reallocate{"always", "both", "arrival", "departure", "never"} {
		require.NoError(t, r.Validate())
	}
	require.EqualError(t, loader.Reallocate("sometimes").Validate(), `"sometimes": one of always, both, arrival, departure, never`)
	require.Error(t, loader.Reallocate("").Validate())
}

// pods are those of a node; true for those with advice.
type pods = map[growth.PodUID]bool

func TestTurnover_Allows(t *testing.T) {
	type at struct {
		second int
		pods   pods
	}
	for name, c := range map[string]struct {
		observed []at
		second   int
		want     map[loader.Reallocate]bool
	}{
		"nothing has happened": {nil, 0, map[loader.Reallocate]bool{
			loader.Always: true, loader.OnBoth: false, loader.OnArrival: false, loader.OnDeparture: false, loader.Never: false}},
		"after an arrival": {[]at{{0, pods{"a": false}}}, 90, map[loader.Reallocate]bool{
			loader.Always: true, loader.OnBoth: true, loader.OnArrival: true, loader.OnDeparture: false, loader.Never: false}},
		"long after it": {[]at{{0, pods{"a": false}}, {100, pods{"a": false}}}, 121, map[loader.Reallocate]bool{
			loader.Always: true, loader.OnBoth: false, loader.OnArrival: false, loader.OnDeparture: false, loader.Never: false}},
		"a pod that an earlier process has advised": {[]at{{0, pods{"a": true}}}, 1, map[loader.Reallocate]bool{
			loader.OnArrival: false, loader.OnBoth: false}},
		"after a departure": {[]at{{0, pods{"a": true, "b": true}}, {9, pods{"b": true}}}, 60, map[loader.Reallocate]bool{
			loader.Always: true, loader.OnBoth: true, loader.OnArrival: false, loader.OnDeparture: true, loader.Never: false}},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
			var turnover loader.Turnover
			for _, o := range c.observed {
				turnover.Observe(o.pods, start.Add(time.Duration(o.second)*time.Second))
			}
			for r, want := range c.want {
				require.Equal(t, want, turnover.Allows(r, start.Add(time.Duration(c.second)*time.Second)), r)
			}
		})
	}
}

func TestTurnover_CollectsDepartures(t *testing.T) {
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	var turnover loader.Turnover
	require.False(t, turnover.Collects(at(0)))
	turnover.Observe(pods{"a": true, "b": true, "c": true, "d": true, "e": true, "f": true}, at(0))
	require.False(t, turnover.Collects(at(0)))
	turnover.Observe(pods{"b": true, "c": true, "d": true, "e": true, "f": true}, at(10))
	require.True(t, turnover.Collects(at(14)))
	require.False(t, turnover.Collects(at(15)))
	turnover.Observe(pods{"c": true, "d": true, "e": true, "f": true}, at(14))
	require.True(t, turnover.Collects(at(18)), "another departure extends the time")
	turnover.Observe(pods{"d": true, "e": true, "f": true}, at(18))
	turnover.Observe(pods{"e": true, "f": true}, at(22))
	require.True(t, turnover.Collects(at(24)))
	require.False(t, turnover.Collects(at(25)), "15 s are the longest")
	turnover.Observe(pods{"f": true}, at(60))
	require.True(t, turnover.Collects(at(61)), "a later departure is collected again")
}
