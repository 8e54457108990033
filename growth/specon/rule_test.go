package specon_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/remaining"
	"github.com/trellis-gpu/trellis/growth/specon"
)

// worker returns a node of one core with jobs of some remaining core-seconds that arrived long ago.
func worker(name string, works ...growth.Work) specon.Node {
	n := specon.Node{Name: growth.NodeName(name), CPU: growth.Core}
	for i, w := range works {
		n.Jobs = append(n.Jobs, specon.Job{
			ID:        growth.PodUID(fmt.Sprintf("%s-%d", name, i)),
			Category:  growth.Progressing,
			Arrived:   start.Add(-time.Hour),
			Placed:    start.Add(-time.Hour),
			Remaining: remaining.Exact(w),
			Limit:     growth.Core,
			Cost:      10,
		})
	}
	return n
}

// onGPU returns a node whose jobs share a GPU.
func onGPU(n specon.Node) specon.Node {
	n.GPU = growth.GPU("GPU-" + n.Name)
	return changed(n, func(j *specon.Job) { j.Remaining.Unit = growth.GPUSecond })
}

func overlapping(j *specon.Job) {
	j.Overlap = fairfinish.Overlap{Kind: "k", Delays: map[string]float64{"k": 0.05}}
}

func changed(n specon.Node, change func(*specon.Job)) specon.Node {
	for i := range n.Jobs {
		change(&n.Jobs[i])
	}
	return n
}

func TestRule(t *testing.T) {
	tests := map[string]struct {
		nodes []specon.Node
		rule  func(*specon.Rule)
		want  []specon.Move
	}{
		// Both jobs would end after 200 s. One moves: 100 s and 110 s.
		"to an idle node": {
			nodes: []specon.Node{worker("a", 100, 100), worker("b")},
			want:  []specon.Move{{Job: "a-0", From: "a", To: "b", Reason: specon.Faster, Gain: 190, Cost: 10}},
		},
		"gains less than three times its cost":         {nodes: []specon.Node{worker("a", 10, 10), worker("b")}},
		"a single job is never moved to an equal node": {nodes: []specon.Node{worker("a", 1000), worker("b")}},
		// On b the new job would make the other one 110 s later, which is 3 % of its hour.
		"would make a job of the target late": {nodes: []specon.Node{worker("a", 500, 500, 500, 500), worker("b", 110)}},
		"would make it late, and that is allowed": {
			nodes: []specon.Node{worker("a", 500, 500, 500, 500), worker("b", 110)},
			rule:  func(r *specon.Rule) { r.Harm = 0.04 },
			want:  []specon.Move{{Job: "a-0", From: "a", To: "b", Reason: specon.Faster, Gain: 2770, Cost: 10, Delay: 110}},
		},
		"the target was made late before": {
			nodes: []specon.Node{worker("a", 500, 500, 500, 500), changed(worker("b", 110), func(j *specon.Job) { j.Delayed = 60 })},
			rule:  func(r *specon.Rule) { r.Harm = 0.04 },
		},
		"moved twice":            {nodes: []specon.Node{changed(worker("a", 100, 100), func(j *specon.Job) { j.Speculative, j.Rebalanced = 1, 1 }), worker("b")}},
		"just placed":            {nodes: []specon.Node{changed(worker("a", 100, 100), func(j *specon.Job) { j.Placed = start.Add(-time.Second) }), worker("b")}},
		"its user does not save": {nodes: []specon.Node{changed(worker("a", 100, 100), func(j *specon.Job) { j.Fixed = "checkpoint is none" }), worker("b")}},
		"unknown sizes":          {nodes: []specon.Node{changed(worker("a", 100, 100), func(j *specon.Job) { j.Remaining = remaining.Estimate{} }), worker("b")}},
		// Jobs of a GPU take turns as jobs of a core do.
		"to an idle GPU": {
			nodes: []specon.Node{onGPU(worker("a", 100, 100)), onGPU(worker("b"))},
			want:  []specon.Move{{Job: "a-0", From: "a", To: "b", Reason: specon.Faster, Gain: 190, Cost: 10}},
		},
		// Where kernels overlap, two jobs that hardly disturb each other gain little from a move.
		"to an idle GPU, from a job that does not disturb": {
			nodes: []specon.Node{onGPU(changed(worker("a", 100, 100), overlapping)), onGPU(worker("b"))},
		},
		"no jobs":  {nodes: []specon.Node{worker("a"), worker("b")}},
		"one node": {nodes: []specon.Node{worker("a", 100, 100)}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			rule := specon.DefaultRule()
			rule.InFlight = 1
			if test.rule != nil {
				test.rule(&rule)
			}
			got := rule.Choose(test.nodes, start, everywhere, 0)
			for i := range got {
				require.InDelta(t, float64(test.want[i].Gain), float64(got[i].Gain), 1)
				got[i].Gain = test.want[i].Gain
				require.InDelta(t, float64(test.want[i].Delay), float64(got[i].Delay), 1)
				got[i].Delay = test.want[i].Delay
			}
			require.Equal(t, test.want, got)
		})
	}
}

func TestRule_LimitsMovesInFlight(t *testing.T) {
	nodes := []specon.Node{worker("a", 500, 500, 500, 500, 500), worker("b"), worker("c"), worker("d")}
	rule := specon.DefaultRule()
	require.Len(t, rule.Choose(nodes, start, everywhere, 0), 2)
	require.Len(t, rule.Choose(nodes, start, everywhere, 1), 1)
	require.Empty(t, rule.Choose(nodes, start, everywhere, 2))
}

// A move with a higher cost is never more attractive, and no move makes a job of the target later than allowed.
func TestRule_Properties(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var cheap, dear []specon.Node
		for i := range 2 + dice.IntN(4) {
			var works []growth.Work
			for range dice.IntN(5) {
				works = append(works, growth.Work(1+1000*dice.Float64()))
			}
			cheap = append(cheap, worker(string(rune('a'+i)), works...))
			dear = append(dear, changed(worker(string(rune('a'+i)), works...), func(j *specon.Job) { j.Cost *= 2 }))
		}
		rule := specon.DefaultRule()
		rule.InFlight = 1
		less, more := rule.Choose(cheap, start, everywhere, 0), rule.Choose(dear, start, everywhere, 0)
		if len(more) > 0 {
			require.NotEmpty(t, less)
			require.Less(t, more[0].Gain, less[0].Gain)
		}
		for _, m := range less {
			require.Greater(t, float64(m.Gain), rule.Factor*float64(m.Cost))
			require.NotEqual(t, m.From, m.To)
		}
	}
}

// What images cost counts in a move, and is asked only of moves that pay without it.
func TestRule_AsksForImagesLast(t *testing.T) {
	for name, tc := range map[string]struct {
		works []growth.Work
		pull  growth.Seconds
		asked bool
		moves int
	}{
		"a move that pays":                {[]growth.Work{100, 100}, 20, true, 1},
		"a move that the pull costs more": {[]growth.Work{100, 100}, 60, true, 0},
		"a move that does not pay anyway": {[]growth.Work{10, 10}, 0, false, 0},
		"a move to a node that has them":  {[]growth.Work{100, 100}, 0, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			asked := false
			from := changed(worker("a", tc.works...), func(j *specon.Job) {
				j.Pull = func(on growth.NodeName) growth.Seconds {
					require.Equal(t, growth.NodeName("b"), on)
					asked = true
					return tc.pull
				}
			})
			moves := specon.DefaultRule().Choose([]specon.Node{from, worker("b")}, start, everywhere, 0)
			require.Len(t, moves, tc.moves)
			require.Equal(t, tc.asked, asked)
			for _, m := range moves {
				require.Equal(t, 10+tc.pull, m.Cost)
			}
		})
	}
}
