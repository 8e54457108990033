package loader_test

import (
	"maps"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/loader"
)

// bruteNodes is the reference implementation of AllocateNodes: it tries every allocation.
func bruteNodes(nodes map[growth.NodeName]loader.Node, spanning []loader.Spanning) float64 {
	if len(spanning) == 0 {
		total := 0.0
		for _, n := range nodes {
			total += brute(n.Jobs, n.Budget)
		}
		return total
	}
	job, best := spanning[0], math.Inf(-1)
	for w := range len(job.Curve) + 1 {
		rest := maps.Clone(nodes)
		fits := true
		for name, width := range job.Widths {
			n := rest[name]
			n.Budget = max(0, n.Budget) - w*width
			fits = fits && n.Budget >= 0
			rest[name] = n
		}
		if fits {
			best = math.Max(best, job.Value(w)+bruteNodes(rest, spanning[1:]))
		}
	}
	return best
}

// randomNodes returns two nodes with up to four jobs together, of which up to three span both, and budgets up to 24.
func randomNodes(rng *rand.Rand) (map[growth.NodeName]loader.Node, []loader.Spanning) {
	jobs, budget := randomJobs(rng)
	_, other := randomJobs(rng)
	nodes := map[growth.NodeName]loader.Node{"n1": {Budget: budget}, "n2": {Budget: other}}
	var spanning []loader.Spanning
	for i, j := range jobs {
		switch on := rng.IntN(3); {
		case on == 2 && len(spanning) < 3:
			spanning = append(spanning, loader.Spanning{
				UID: j.UID, Weight: j.Weight, Curve: j.Curve,
				Widths: map[growth.NodeName]int{"n1": 1 + rng.IntN(2), "n2": 1 + i%2},
			})
		default:
			name := growth.NodeName("n" + strconv.Itoa(1+on%2))
			n := nodes[name]
			n.Jobs = append(n.Jobs, j)
			nodes[name] = n
		}
	}
	return nodes, spanning
}

// valueOf returns the value of an allocation. It requires that no node exceeds its budget.
func valueOf(t *testing.T, got loader.Allocation, nodes map[growth.NodeName]loader.Node, spanning []loader.Spanning) float64 {
	total := 0.0
	for _, job := range spanning {
		total += job.Value(got[job.UID])
	}
	for name, n := range nodes {
		cores := got.Cores(n.Jobs)
		for _, job := range spanning {
			cores += job.Widths[name] * got[job.UID]
		}
		require.LessOrEqual(t, cores, n.Budget, "node %s", name)
		total += got.Value(n.Jobs)
	}
	return total
}

func TestAllocateNodes_MatchesExhaustiveSearch(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for range 500 {
		nodes, spanning := randomNodes(rng)
		got := loader.AllocateNodes(nodes, spanning)
		require.InEpsilon(t, 1+bruteNodes(nodes, spanning), 1+valueOf(t, got, nodes, spanning), 1e-9,
			"%v and %v got %v", nodes, spanning, got)
	}
}

func TestAllocateNodes_IgnoresTheOrderOfJobs(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for range 200 {
		nodes, spanning := randomNodes(rng)
		want := loader.AllocateNodes(nodes, spanning)
		rng.Shuffle(len(spanning), func(a, b int) { spanning[a], spanning[b] = spanning[b], spanning[a] })
		require.Equal(t, want, loader.AllocateNodes(nodes, spanning))
	}
}

// TestAllocateNodes_ManySpanningJobs: with too many combinations for a full search, two jobs at a time are improved.
func TestAllocateNodes_ManySpanningJobs(t *testing.T) {
	nodes := map[growth.NodeName]loader.Node{"n1": {Budget: 60}, "n2": {Budget: 90}}
	var spanning []loader.Spanning
	equivalent := []loader.Job{}
	for i := range 9 {
		curve := loader.Model{Parallel: .02 * growth.Seconds(1+i), Serial: 1e-4, Compute: .001}.Curve(32)
		uid := growth.PodUID("job-" + strconv.Itoa(i))
		spanning = append(spanning, loader.Spanning{UID: uid, Weight: 1, Curve: curve, Widths: map[growth.NodeName]int{"n1": 1, "n2": 1}})
		equivalent = append(equivalent, loader.Job{UID: uid, Weight: 2, Width: 1, Curve: curve})
	}
	got := loader.AllocateNodes(nodes, spanning)
	best := loader.Allocate(equivalent, 60) // the other node has more than enough
	require.InEpsilon(t, best.Value(equivalent), valueOf(t, got, nodes, spanning), 1e-9)
}

func TestAllocateNodes(t *testing.T) {
	rising := loader.Curve{0, 100, 200, 300, 400}
	span := loader.Spanning{UID: "span", Weight: 1, Curve: rising, Widths: map[growth.NodeName]int{"n1": 1, "n2": 1}}
	local := func(uid growth.PodUID, weight loader.Weight) loader.Job {
		return loader.Job{UID: uid, Weight: weight, Width: 1, Curve: rising}
	}
	for name, c := range map[string]struct {
		nodes    map[growth.NodeName]loader.Node
		spanning []loader.Spanning
		want     loader.Allocation
	}{
		"the node with fewer cores limits a job": {
			map[growth.NodeName]loader.Node{"n1": {Budget: 4}, "n2": {Budget: 1}}, []loader.Spanning{span}, loader.Allocation{"span": 1},
		},
		"what a job cannot use goes to the others of the node": {
			map[growth.NodeName]loader.Node{"n1": {Budget: 4, Jobs: []loader.Job{local("a", .1)}}, "n2": {Budget: 1}},
			[]loader.Spanning{span}, loader.Allocation{"span": 1, "a": 3},
		},
		"a worker of a job costs a core of each of its nodes": {
			map[growth.NodeName]loader.Node{
				"n1": {Budget: 1, Jobs: []loader.Job{local("a", 1.1)}}, "n2": {Budget: 1, Jobs: []loader.Job{local("b", 1.1)}},
			}, []loader.Spanning{span}, loader.Allocation{"span": 0, "a": 1, "b": 1},
		},
		"a node without cores": {
			map[growth.NodeName]loader.Node{"n1": {Budget: 4}, "n2": {Budget: -3}}, []loader.Spanning{span}, loader.Allocation{"span": 0},
		},
		"there are no jobs": {nil, nil, loader.Allocation{}},
		"an unmeasured job": {map[growth.NodeName]loader.Node{"n1": {Budget: 4}, "n2": {Budget: 3}}, []loader.Spanning{{UID: "new", Widths: span.Widths}}, loader.Allocation{"new": 0}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, loader.AllocateNodes(c.nodes, c.spanning)) })
	}
}

func TestSlowest(t *testing.T) {
	for name, c := range map[string]struct {
		curves []loader.Curve
		want   loader.Curve
	}{
		"no rank":                        {nil, nil},
		"one rank":                       {[]loader.Curve{{1, 2}}, loader.Curve{1, 2}},
		"the slower at each number":      {[]loader.Curve{{1, 5, 9}, {2, 4, 6}}, loader.Curve{1, 4, 6}},
		"the shortest limits the job":    {[]loader.Curve{{1, 5, 9}, {2, 6}}, loader.Curve{1, 5}},
		"a rank that was not measured":   {[]loader.Curve{{1, 5, 9}, {}}, loader.Curve{}},
		"an invalid rate counts as zero": {[]loader.Curve{{1, growth.PerSecond(math.NaN())}, {2, 3}}, loader.Curve{1, 0}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, loader.Slowest(c.curves...)) })
	}
}

// TestAllocateNodes_ALargeCluster: the time of a division grows with the pairs of jobs that share a node, not with all pairs and all nodes.
func TestAllocateNodes_ALargeCluster(t *testing.T) {
	nodes := map[growth.NodeName]loader.Node{}
	node := func(i int) growth.NodeName { return growth.NodeName("n" + strconv.Itoa(i%50)) }
	curve := func(i int) loader.Curve {
		return loader.Model{Parallel: .01 * growth.Seconds(1+i%9), Serial: 1e-4, Compute: .001}.Curve(32)
	}
	for i := range 50 {
		local := loader.Job{UID: growth.PodUID("local-" + strconv.Itoa(i)), Weight: 1, Width: 1, Curve: curve(i)}
		nodes[node(i)] = loader.Node{Budget: 40, Jobs: []loader.Job{local}}
	}
	var spanning []loader.Spanning
	for i := range 100 {
		spanning = append(spanning, loader.Spanning{
			UID: growth.PodUID("job-" + strconv.Itoa(i)), Weight: 1, Curve: curve(i),
			Widths: map[growth.NodeName]int{node(i): 1, node(7*i + 3): 1},
		})
	}
	began := time.Now()
	got := loader.AllocateNodes(nodes, spanning)
	require.Less(t, time.Since(began), 5*time.Second)
	present := valueOf(t, got, nodes, spanning)
	require.Positive(t, present)
	for _, job := range spanning[:10] { // no job gains from another number of workers that fits
		for w := range len(job.Curve) {
			other := maps.Clone(got)
			other[job.UID] = w
			fits := true
			for name, n := range nodes {
				cores := 0
				for _, s := range spanning {
					cores += s.Widths[name] * other[s.UID]
				}
				if fits = fits && cores <= n.Budget; fits {
					maps.Copy(other, loader.Allocate(n.Jobs, n.Budget-cores))
				}
			}
			if fits {
				require.LessOrEqual(t, valueOf(t, other, nodes, spanning), present*(1+1e-9), "%s with %d", job.UID, w)
			}
		}
	}
}
