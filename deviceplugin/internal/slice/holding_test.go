package slice_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/growth"
)

// held returns the holding of a pod's only container.
func held(pod growth.PodUID, created int64, running bool, ids ...string) slice.Holding {
	return slice.Holding{
		Key:     slice.Key{Pod: pod, Container: "main"},
		Name:    "ns/" + string(pod),
		Created: time.Unix(created, 0),
		IDs:     ids,
		Running: running,
	}
}

func request(pod growth.PodUID, units int) slice.Demand {
	return slice.Demand{Pod: pod, Container: "main", Units: units, Count: 1}
}

func TestChooseUnheld(t *testing.T) {
	const running, stopped = true, false
	for name, tc := range map[string]struct {
		available   []string
		mustInclude []string
		size        int
		holdings    []slice.Holding
		demands     []slice.Demand
		want        []string
	}{
		"kubelet offers no held ids": {
			available: []string{"A/2", "A/3"}, size: 2, want: []string{"A/2", "A/3"},
			holdings: []slice.Holding{held("p", 1, running, "A/0", "A/1")},
		},
		"held ids are avoided": {
			available: slice.IDs("A", 4), size: 2, want: []string{"A/2", "A/3"},
			holdings: []slice.Holding{held("p", 1, running, "A/0", "A/1")},
		},
		"ids of a container that does not run are avoided too": {
			available: slice.IDs("A", 4), size: 2, want: []string{"A/2", "A/3"},
			holdings: []slice.Holding{held("p", 1, stopped, "A/0", "A/1")},
		},
		"ids of a running container are never chosen": {
			available: slice.IDs("A", 3), size: 2, want: []string{"A/2"},
			holdings: []slice.Holding{held("p", 1, running, "A/0", "A/1")},
		},
		"the oldest stopped container of this size gets its ids again": {
			available: slice.IDs("A", 5), size: 2, want: []string{"A/2", "A/3"},
			holdings: []slice.Holding{held("p", 2, stopped, "A/0", "A/1"), held("q", 1, stopped, "A/2", "A/3")},
			demands:  []slice.Demand{request("p", 2), request("q", 2)},
		},
		"a running container of this size does not": {
			available: slice.IDs("A", 5), size: 2, want: []string{"A/2", "A/3"},
			holdings: []slice.Holding{held("p", 1, running, "A/0", "A/1"), held("q", 2, stopped, "A/2", "A/3")},
		},
		"a pod without ids may be meant": {
			available: slice.IDs("A", 3), size: 2, want: []string{"A/2"},
			holdings: []slice.Holding{held("p", 1, stopped, "A/0", "A/1")},
			demands:  []slice.Demand{request("p", 2), request("newcomer", 2)},
		},
		"a pod without ids asks for another size": {
			available: slice.IDs("A", 3), size: 2, want: []string{"A/0", "A/1"},
			holdings: []slice.Holding{held("p", 1, stopped, "A/0", "A/1")},
			demands:  []slice.Demand{request("p", 2), request("newcomer", 3)},
		},
		"a larger init container uses the ids of its pod's stopped container": {
			available: slice.IDs("A", 3), size: 3, want: []string{"A/0", "A/1", "A/2"},
			holdings: []slice.Holding{held("p", 1, stopped, "A/0", "A/1")},
		},
		"no single GPU has the units outside holdings": {
			available: []string{"A/0", "A/1", "A/2", "B/0"}, size: 2, want: []string{"A/0", "A/1"},
			holdings: []slice.Holding{held("p", 1, stopped, "A/0", "A/1")},
		},
		"ids that kubelet has chosen stay": {
			available: slice.IDs("A", 4), mustInclude: []string{"A/0"}, size: 2, want: []string{"A/0", "A/2"},
			holdings: []slice.Holding{held("p", 1, running, "A/0", "A/1")},
		},
		"own ids without those that kubelet has chosen": {
			available: slice.IDs("A", 3), mustInclude: []string{"A/2"}, size: 2, want: []string{"A/2", "A/0"},
			holdings: []slice.Holding{held("p", 1, stopped, "A/0", "A/1")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := slice.Request{Available: tc.available, MustInclude: tc.mustInclude, Size: tc.size}
			require.Equal(t, tc.want, slice.ChooseUnheld(r, tc.demands, tc.holdings))
		})
	}
}

func TestBlockers(t *testing.T) {
	p := held("p", 1, true, "A/0", "A/1")
	q := held("q", 2, false, "A/2", "A/3")
	all := []slice.Holding{p, q}
	for name, tc := range map[string]struct {
		ids     []string
		demands []slice.Demand
		want    []slice.Holding
	}{
		"no container holds the ids":           {ids: []string{"A/4"}},
		"a running container holds one":        {ids: []string{"A/1", "A/4"}, want: []slice.Holding{p}},
		"a stopped container holds them":       {ids: []string{"A/2", "A/3"}, demands: []slice.Demand{request("q", 2)}},
		"a stopped container, and a newcomer":  {ids: []string{"A/2", "A/3"}, demands: []slice.Demand{request("new", 2)}, want: []slice.Holding{q}},
		"a newcomer asks for another size":     {ids: []string{"A/2", "A/3"}, demands: []slice.Demand{request("new", 1)}},
		"a running and a stopped container":    {ids: []string{"A/1", "A/2"}, want: []slice.Holding{p}},
		"both, and a newcomer of another pod":  {ids: []string{"A/1", "A/2"}, demands: []slice.Demand{request("new", 2)}, want: all},
		"a pod with ids is not a newcomer":     {ids: []string{"A/2", "A/3"}, demands: []slice.Demand{request("p", 2)}},
		"no ids are asked for, as by a zero r": {},
	} {
		t.Run(name, func(t *testing.T) {
			got := slice.Blockers(tc.ids, tc.demands, all)
			require.ElementsMatch(t, tc.want, got)
		})
	}
}
