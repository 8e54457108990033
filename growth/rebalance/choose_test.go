package rebalance_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/interference"
	"github.com/trellis-gpu/trellis/growth/move"
	"github.com/trellis-gpu/trellis/growth/rebalance"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// Nothing moves unless all that the decision needs is known and believable. Two jobs of node a would end 970 s earlier in total if
// one of them moved to the idle node b.
func TestChoose_NeedsToKnow(t *testing.T) {
	unit := growth.CoreSecond
	estimate := func(low, likely, high growth.Work) remaining.Estimate {
		return remaining.Estimate{Low: low, Likely: likely, High: high, Known: true, Unit: unit}
	}
	tests := map[string]struct {
		change func(*rebalance.Cluster)
		// skips is why node a takes no part, moves whether a job moves all the same.
		skips string
		moves bool
	}{
		"all is known":                  {change: func(*rebalance.Cluster) {}, moves: true},
		"no sample":                     {change: first(func(j *rebalance.Job) { j.Prospects = nil }), skips: "pod ns/a-0: its coordinator has published nothing about it"},
		"a stale sample":                {change: first(func(j *rebalance.Job) { j.Prospects.Age = 4 * time.Minute }), skips: "pod ns/a-0: its sample is 4m0s old"},
		"a sample of another node":      {change: first(func(j *rebalance.Job) { j.Prospects.Node = "b" }), skips: "pod ns/a-0: its sample is of node b"},
		"unknown what it can use":       {change: first(func(j *rebalance.Job) { j.Prospects.Usable = 0 }), skips: "pod ns/a-0: it is unknown how much it can use"},
		"it can use more than exists":   {change: first(func(j *rebalance.Job) { j.Prospects.Usable = 1 << 40 }), skips: "pod ns/a-0: its sample is invalid: it can use 1099511627776m"},
		"unknown GPUs":                  {change: first(func(j *rebalance.Job) { j.GPUs = nil }), skips: "pod ns/a-0: it is unknown on which GPU it is"},
		"negative work":                 {change: first(left(estimate(-1, 1, 1))), skips: invalid},
		"an interval that is reversed":  {change: first(left(estimate(5, 4, 6))), skips: invalid},
		"more work than anybody has":    {change: first(left(estimate(1e300, 1e300, 1e300))), skips: invalid},
		"infinite work":                 {change: first(left(estimate(1, growth.Work(math.Inf(1)), growth.Work(math.Inf(1))))), skips: invalid},
		"work that is not a number":     {change: first(left(estimate(1, growth.Work(math.NaN()), 1))), skips: invalid},
		"unknown CPU of the node":       {change: func(c *rebalance.Cluster) { c.Nodes[0].CPU = 0 }, skips: "its coordinator has not published how much CPU its jobs share"},
		"a job moves from or to it":     {change: func(c *rebalance.Cluster) { c.Nodes[0].Unused = "a job moves" }, skips: "a job moves"},
		"unknown sizes":                 {change: all(left(remaining.Estimate{}))},
		"uncertain sizes":               {change: all(left(estimate(100, 500, 900)))},
		"sizes in GPU-seconds":          {change: all(func(j *rebalance.Job) { j.Prospects.Remaining.Unit = growth.GPUSecond })},
		"moved twice":                   {change: all(func(j *rebalance.Job) { j.History.Count = 2 })},
		"moved once":                    {change: all(func(j *rebalance.Job) { j.History.Count = 1 }), moves: true},
		"its last move has just failed": {change: all(func(j *rebalance.Job) { j.History = failed(start.Add(-time.Minute)) })},
		"its last move failed long ago": {change: all(func(j *rebalance.Job) { j.History = failed(start.Add(-time.Hour)) }), moves: true},
		"it has just come":              {change: all(func(j *rebalance.Job) { j.Created = start.Add(-time.Second) })},
		"it cannot save":                {change: all(func(j *rebalance.Job) { j.Fixed = "it cannot save" })},
		"two move already":              {change: func(c *rebalance.Cluster) { c.Moving = 2 }},
		"no room on the target":         {change: func(c *rebalance.Cluster) { c.Nodes[1].GPUs[0].Memory = growth.GiB }},
		"the target is not allowed":     {change: func(c *rebalance.Cluster) { c.Allowed = nowhere }},
		"another model of GPU":          {change: func(c *rebalance.Cluster) { c.Nodes[1].Models["b-0"] = "T4" }},
		"the target shares GPUs":        {change: func(c *rebalance.Cluster) { c.Nodes[1].GPUTime = true }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := cluster(node("a", 1, 16), node("b", 1, 16))
			c.add("a", 0, 4, 500)
			c.add("a", 0, 4, 500)
			test.change(&c.Cluster)
			d, moves, skipped := choose(c)
			require.Equal(t, test.moves, moves, "%+v", d)
			require.Equal(t, test.skips, skipped["a"])
		})
	}
}

const invalid = "pod ns/a-0: its sample is invalid: the remaining work is not an interval of amounts"

func TestChoose_SaysWhy(t *testing.T) {
	c := cluster(node("a", 1, 16), node("b", 1, 16))
	c.add("a", 0, 4, 500)
	c.add("a", 0, 4, 500)
	d, _, _ := choose(c)
	require.Equal(t, growth.PodUID("a-0"), d.Pod.UID)
	require.Equal(t, move.Faster, d.Cause)
	require.Equal(t, "the jobs of both nodes end 16m10s earlier in total. The move takes about 30s ("+
		"assumed: no move of its program was measured), and has to gain 3 times that", d.Because)

	other := moved("x", "y", 100)
	c.Past = []rebalance.Past{{Kind: "other", History: other}}
	d, _, _ = choose(c)
	require.Contains(t, d.Because, "The move takes about 30s", "an earlier release has not recorded the parts of a move")
	other.Past[0].Replaced = 4
	d, _, _ = choose(c)
	require.Contains(t, d.Because, "The move takes about 24s (with eviction and placement as in other moves, the rest assumed: "+
		"no move of its program was measured)")

	c.Past = []rebalance.Past{{Kind: "k", History: moved("x", "y", 10)}}
	d, _, _ = choose(c)
	require.Contains(t, d.Because, "The move takes about 10s (as that of another job of its program took)")

	c.Past = []rebalance.Past{{Kind: "k", History: moved("x", "y", 10)}, {Kind: "k", History: moved("x", "y", 20)}}
	d, _, _ = choose(c)
	require.Contains(t, d.Because, "The move takes about 15s (as those of 2 other jobs of its program took)")

	c.Nodes[0].Jobs[0].History = moved("y", "a", 5)
	d, _, _ = choose(c)
	require.Contains(t, d.Because, "The move takes about 5s (as its own moves took)")
}

// A job moves to the node that has its image rather than to one that would pull it, and not at all if the pull takes longer than it gains.
func TestChoose_CountsTheImage(t *testing.T) {
	pulled := moved("y", "a", 50)
	pulled.Past[0].Start, pulled.Past[0].NoImage = 40, true
	for name, tc := range map[string]struct {
		own     move.History
		of      move.History // of another job of its program
		missing map[growth.NodeName]growth.MiB
		to      growth.NodeName
		because string
	}{
		"all nodes have it":                 {to: "b", because: "takes about 30s (assumed: no move of its program was measured)"},
		"another node has it":               {missing: map[growth.NodeName]growth.MiB{"b": 5000}, to: "c", because: "takes about 30s"},
		"no node has it":                    {missing: map[growth.NodeName]growth.MiB{"b": 2000, "c": 2000}, to: "b", because: "takes about 1m10s (assumed: no move of its program was measured; 40s of it for its image, which node b does not have)"},
		"a pull that does not pay":          {missing: map[growth.NodeName]growth.MiB{"b": 50_000, "c": 50_000}},
		"it has pulled it before":           {own: pulled, missing: map[growth.NodeName]growth.MiB{"b": 50_000, "c": 50_000}, to: "b", because: "takes about 50s (as its own moves took; 40s of it for its image"},
		"it has pulled it, but not there":   {own: pulled, to: "b", because: "takes about 10s (as its own moves took)"},
		"a job of its program has pulled":   {of: pulled, missing: map[growth.NodeName]growth.MiB{"b": 50_000, "c": 50_000}, to: "b", because: "takes about 50s (as that of another job of its program took; 40s"},
		"a job of another node has nothing": {of: moved("y", "a", 10), missing: map[growth.NodeName]growth.MiB{"a": 50_000}, to: "b", because: "takes about 10s"},
	} {
		t.Run(name, func(t *testing.T) {
			c := cluster(node("a", 1, 16), node("b", 1, 16), node("c", 1, 16))
			c.add("a", 0, 4, 500)
			c.add("a", 0, 4, 500)
			c.MissingImages = func(_ growth.PodUID, on growth.NodeName) growth.MiB { return tc.missing[on] }
			c.each(func(j *rebalance.Job) { j.History = tc.own })
			c.Past = []rebalance.Past{{Kind: "k", History: tc.of}}
			d, _, _ := choose(c)
			require.Equal(t, tc.to, d.To)
			require.Contains(t, d.Because, tc.because)
		})
	}
}

// The cheapest move makes room for a pending pod: that to the node with the image.
func TestChoose_MakesRoomWithoutAPull(t *testing.T) {
	c := cluster(node("a", 1, 16), node("b", 1, 8), node("c", 1, 8))
	c.add("a", 0, 4, 500)
	c.wait("large", 16)
	c.MissingImages = func(_ growth.PodUID, on growth.NodeName) growth.MiB {
		return map[growth.NodeName]growth.MiB{"b": 1000}[on]
	}
	d, ok, _ := choose(c)
	require.True(t, ok)
	require.Equal(t, growth.NodeName("c"), d.To)
}

// A job of the target that earlier moves have delayed is not delayed again beyond the bound of all moves together.
func TestChoose_CountsEarlierDelays(t *testing.T) {
	c := cluster(node("a", 1, 16), node("b", 1, 16))
	for range 4 {
		c.add("a", 0, 2, 5000)
	}
	c.add("b", 0, 2, 10)
	_, moves, _ := choose(c)
	require.True(t, moves, "10 s more are less than 2 % of its hour")
	before := moved("a", "b", 10)
	before.Past[0].Delay, before.Past[0].Ended = 70, start.Add(-time.Minute)
	c.Past = []rebalance.Past{{History: before}}
	_, moves, _ = choose(c)
	require.False(t, moves, "80 s are more")
}

// On nodes with GPUs each GPU is shared by its own jobs.
func TestChoose_GPUs(t *testing.T) {
	onGPUs := func(n *rebalance.Node) { n.GPUTime, n.CPU = true, 0 }
	c := cluster(node("a", 2, 16), node("b", 2, 16))
	onGPUs(&c.Nodes[0])
	onGPUs(&c.Nodes[1])
	c.add("a", 0, 4, 500)
	c.add("a", 1, 4, 500)
	c.each(func(j *rebalance.Job) { j.Prospects.Remaining.Unit = growth.GPUSecond })
	_, moves, _ := choose(c)
	require.False(t, moves, "each has a GPU of its own")

	c.add("a", 1, 4, 500)
	c.each(func(j *rebalance.Job) { j.Prospects.Remaining.Unit = growth.GPUSecond })
	d, moves, _ := choose(c)
	require.True(t, moves)
	require.Equal(t, growth.PodUID("a-1"), d.Pod.UID, "one of the two of the second GPU")

	c.Nodes[0].Overlap, c.Nodes[1].Overlap = true, true
	c.each(func(j *rebalance.Job) { j.Prospects.Activity = 0.01 })
	c.Model = new(interference.Prior())
	_, moves, _ = choose(c)
	require.False(t, moves, "with MPS they hardly slow each other down")
}

func TestChoose_MultiGPUJobsStay(t *testing.T) {
	c := cluster(node("a", 2, 16), node("b", 2, 16))
	c.Nodes[0].GPUTime, c.Nodes[1].GPUTime = true, true
	c.add("a", 0, 4, 500)
	c.add("a", 0, 4, 500)
	c.each(func(j *rebalance.Job) {
		j.GPUs, j.Prospects.Remaining.Unit = []growth.GPU{"a-0", "a-1"}, growth.GPUSecond
	})
	_, moves, _ := choose(c)
	require.False(t, moves)
}
