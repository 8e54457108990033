package gang_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gang"
	"github.com/trellis-gpu/trellis/growth/placement"
)

var start = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// request is that of a pod with one container of some units.
func request(units int) placement.Request {
	return placement.Request{
		Memory:     growth.MiB(units) * growth.GiB,
		Count:      1,
		Containers: []placement.Container{{Name: "train", Units: units}},
	}
}

// nodes returns nodes with one GPU each: a, b, c ….
func nodes(memory ...growth.MiB) map[growth.NodeName]placement.Node {
	all := map[growth.NodeName]placement.Node{}
	for i, m := range memory {
		name := growth.NodeName(rune('a' + i))
		gpu := placement.GPU{UUID: growth.GPU(name + "-0"), Memory: m * growth.GiB, Healthy: true}
		all[name] = placement.Node{Name: name, Unit: growth.GiB, GPUs: []placement.GPU{gpu}}
	}
	return all
}

// job returns a gang whose pods ask for units each, and are offered all of the nodes.
func job(name string, created time.Time, size, units int, offered ...growth.NodeName) gang.Gang {
	g := gang.Gang{Name: name, Created: created, Size: size}
	for i := range size {
		g.Pods = append(g.Pods, gang.Pod{UID: growth.PodUID(fmt.Sprintf("%s-%d", name, i)), Request: request(units), Nodes: offered})
	}
	return g
}

// hold applies a decision to a gang and the nodes.
func hold(t *testing.T, g *gang.Gang, on map[growth.NodeName]placement.Node, d gang.Decision) {
	t.Helper()
	require.Equal(t, g.Name, d.Gang)
	g.State = d.State
	for i := range g.Pods {
		p := &g.Pods[i]
		if n, held := on[p.Node]; held {
			on[p.Node] = n.Without(p.UID)
		}
		p.Node, p.GPUs = d.Room[p.UID], nil
		if p.Node == "" {
			continue
		}
		choice, status := placement.Place(on[p.Node], p.Request, placement.Spread{})
		require.True(t, status.Fits(), status.Reason)
		with, err := on[p.Node].With(p.UID, choice.GPUs)
		require.NoError(t, err)
		on[p.Node], p.GPUs = with, choice.GPUs
	}
}

func TestDecide(t *testing.T) {
	type expected struct {
		mayBind      bool
		fit, missing int
		held         int // the pods that hold room
	}
	bound := func(g gang.Gang) gang.Gang { g.Pods[0].Node, g.Pods[0].Bound = "a", true; return g }
	fewer := func(g gang.Gang, pods int) gang.Gang { g.Pods = g.Pods[:pods]; return g }
	for name, tc := range map[string]struct {
		room  []growth.MiB
		gangs []gang.Gang
		want  []expected
	}{
		"all pods fit": {
			room: []growth.MiB{8, 8}, gangs: []gang.Gang{job("x", start, 4, 4, "a", "b")},
			want: []expected{{mayBind: true, fit: 4, held: 4}},
		},
		"a part fits and holds its room": {
			room: []growth.MiB{8, 4}, gangs: []gang.Gang{job("x", start, 4, 4, "a", "b")},
			want: []expected{{fit: 3, held: 3}},
		},
		"none fits": {
			room: []growth.MiB{2, 2}, gangs: []gang.Gang{job("x", start, 2, 4, "a", "b")},
			want: []expected{{}},
		},
		"a pod has not been created": {
			room: []growth.MiB{8, 8}, gangs: []gang.Gang{fewer(job("x", start, 4, 4, "a", "b"), 3)},
			want: []expected{{fit: 3, missing: 1, held: 3}},
		},
		"the scheduler offers only one node": {
			room: []growth.MiB{8, 8}, gangs: []gang.Gang{job("x", start, 4, 4, "b")},
			want: []expected{{fit: 2, held: 2}},
		},
		"the scheduler has not asked": {
			room: []growth.MiB{8, 8}, gangs: []gang.Gang{job("x", start, 2, 4)},
			want: []expected{{}},
		},
		"the earlier gang comes first": {
			room: []growth.MiB{8}, gangs: []gang.Gang{job("a", start.Add(1), 2, 4, "a"), job("z", start, 2, 4, "a")},
			want: []expected{{mayBind: true, fit: 2, held: 2}, {}},
		},
		"the name decides between equals": {
			room: []growth.MiB{8}, gangs: []gang.Gang{job("z", start, 2, 4, "a"), job("a", start, 2, 4, "a")},
			want: []expected{{mayBind: true, fit: 2, held: 2}, {}},
		},
		"a later gang that fits next to an earlier one": {
			room: []growth.MiB{8, 8}, gangs: []gang.Gang{job("x", start, 3, 4, "a"), job("y", start.Add(1), 2, 4, "a", "b")},
			want: []expected{{fit: 2, held: 2}, {mayBind: true, fit: 2, held: 2}},
		},
		"a pod of a gang that runs": {
			room: []growth.MiB{2}, gangs: []gang.Gang{bound(job("x", start, 2, 4, "a"))},
			want: []expected{{mayBind: true, fit: 2}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []expected
			for _, d := range gang.DefaultLimits().Decide(start, tc.gangs, nodes(tc.room...), placement.Spread{}) {
				got = append(got, expected{d.MayBind, d.Fit, d.Missing, len(d.Room)})
			}
			require.Equal(t, tc.want, got)
		})
	}
}

func TestDecide_HoldsAPartForALimitedTime(t *testing.T) {
	limits := gang.DefaultLimits()
	g, on := job("x", start, 3, 4, "a", "b"), nodes(8, 2)
	decide := func(after time.Duration) gang.Decision {
		d := limits.Decide(start.Add(after), []gang.Gang{g}, on, placement.Spread{})[0]
		hold(t, &g, on, d)
		return d
	}
	require.Len(t, decide(0).Room, 2)
	require.Len(t, decide(limits.Hold-1).Room, 2)
	d := decide(limits.Hold)
	require.Empty(t, d.Room)
	require.True(t, d.Expired)
	require.Equal(t, 2, d.Fit, "they would fit")
	d = decide(limits.Hold + limits.Rest - 1)
	require.Empty(t, d.Room)
	require.False(t, d.Expired)
	require.Len(t, decide(limits.Hold+limits.Rest).Room, 2, "it tries again")

	decide(2*limits.Hold + limits.Rest)
	on["b"] = nodes(0, 8)["b"]
	d = decide(2*limits.Hold + limits.Rest + 1)
	require.True(t, d.MayBind, "a gang that rests is placed when all of it fits")
}

func TestDecide_BarsAGangThatIsNotBound(t *testing.T) {
	limits := gang.DefaultLimits()
	g, on := job("x", start, 2, 4, "a"), nodes(8)
	decide := func(after time.Duration) gang.Decision {
		d := limits.Decide(start.Add(after), []gang.Gang{g}, on, placement.Spread{})[0]
		hold(t, &g, on, d)
		return d
	}
	require.True(t, decide(0).MayBind)
	require.True(t, decide(limits.Hold-1).MayBind)
	d := decide(limits.Hold)
	require.False(t, d.MayBind)
	require.True(t, d.Expired)
	require.Empty(t, d.Room)
	require.False(t, decide(limits.Hold+limits.Rest-1).MayBind)
	require.True(t, decide(limits.Hold+limits.Rest).MayBind)
}

func TestDecide_LeavesItsNodeIfTheSchedulerDoes(t *testing.T) {
	g, on := job("x", start, 1, 4, "a", "b"), nodes(8, 8)
	limits := gang.DefaultLimits()
	hold(t, &g, on, limits.Decide(start, []gang.Gang{g}, on, placement.Spread{})[0])
	require.Equal(t, growth.NodeName("a"), g.Pods[0].Node)
	g.Pods[0].Nodes = []growth.NodeName{"b"}
	d := limits.Decide(start.Add(1), []gang.Gang{g}, on, placement.Spread{})[0]
	require.True(t, d.MayBind)
	require.Equal(t, map[growth.PodUID]growth.NodeName{"x-0": "b"}, d.Room)
}
