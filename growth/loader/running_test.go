package loader_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/loader"
)

// TestDivide_SpanningJobs has a job with one pod on each of two nodes.
func TestDivide_SpanningJobs(t *testing.T) {
	curve := loader.Curve{100, 150, 200, 250, 251}
	pod := func(uid growth.PodUID, gang string, loaders int, options ...func(*loader.Running)) loader.Running {
		r := loader.Running{
			Job:       loader.Job{UID: uid, Weight: 1, Width: 1, Curve: curve},
			Gang:      gang,
			Loaders:   loaders,
			Unchanged: time.Hour,
			Remaining: 600,
		}
		for _, option := range options {
			option(&r)
		}
		return r
	}
	weighs := func(w loader.Weight) func(*loader.Running) { return func(r *loader.Running) { r.Weight = w } }
	has := func(c loader.Curve) func(*loader.Running) { return func(r *loader.Running) { r.Curve = c } }
	nodes := func(budget1, budget2 int, on1, on2 []loader.Running) []loader.RunningNode {
		return []loader.RunningNode{{Name: "n1", Budget: budget1, Running: on1}, {Name: "n2", Budget: budget2, Running: on2}}
	}
	for name, c := range map[string]struct {
		nodes  []loader.RunningNode
		want   loader.Allocation
		reason string
	}{
		"the pods get equal numbers, by the node with fewer cores": {
			nodes(4, 2, []loader.Running{pod("a0", "a", 1)}, []loader.Running{pod("a1", "a", 1)}),
			loader.Allocation{"a0": 2, "a1": 2}, "2 nodes together gain 33%",
		},
		"what the job cannot use goes to another job": {
			nodes(4, 1, []loader.Running{pod("a0", "a", 1), pod("b", "", 1, weighs(.1))}, []loader.Running{pod("a1", "a", 1)}),
			loader.Allocation{"a0": 1, "a1": 1, "b": 3}, "gain",
		},
		"an overloaded node lowers the job on both": {
			nodes(4, 1, []loader.Running{pod("a0", "a", 2)}, []loader.Running{pod("a1", "a", 2)}),
			loader.Allocation{"a0": 1, "a1": 1}, "2 workers ran on a budget of 1 core",
		},
		"the slowest pod decides": {
			nodes(4, 4, []loader.Running{pod("a0", "a", 1)}, []loader.Running{pod("a1", "a", 1, has(loader.Curve{80, 90, 90, 90, 90}))}),
			loader.Allocation{"a0": 1, "a1": 1}, "best",
		},
		"a pod that was not measured keeps the job as it is": {
			nodes(4, 4, []loader.Running{pod("a0", "a", 1)}, []loader.Running{pod("a1", "a", 1, has(nil))}),
			loader.Allocation{"a0": 1, "a1": 1}, "best",
		},
		"only the pod with the metric knows that the job has converged": {
			nodes(2, 2, []loader.Running{pod("a0", "a", 1, weighs(.01)), pod("b", "", 1)}, []loader.Running{pod("a1", "a", 1)}),
			loader.Allocation{"a0": 0, "a1": 0, "b": 2}, "gain",
		},
		"pods with different numbers get the same": {
			nodes(4, 4, []loader.Running{pod("a0", "a", 3)}, []loader.Running{pod("a1", "a", 1)}),
			loader.Allocation{"a0": 4, "a1": 4}, "gain",
		},
		"pods of a job on one node": {
			nodes(4, 4, []loader.Running{pod("a0", "a", 1), pod("a1", "a", 1)}, nil),
			loader.Allocation{"a0": 2, "a1": 2}, "gain",
		},
	} {
		t.Run(name, func(t *testing.T) {
			plan := loader.DefaultChangePolicy().Divide(c.nodes)
			require.Equal(t, c.want, plan.Loaders)
			require.Contains(t, plan.Reason, c.reason)
		})
	}
}

// TestDivide_NeedsGainOverTheRemainingTime: the measured time of a rebuild replaces the prior of 4 s.
func TestDivide_NeedsGainOverTheRemainingTime(t *testing.T) {
	for name, c := range map[string]struct {
		remaining growth.Seconds
		rebuild   *growth.Seconds
		want      int
	}{
		"a long job":                        {600, nil, 2},
		"a gain of a third in 36 s":         {37, nil, 2},
		"a shorter job":                     {35, nil, 1},
		"a rebuild that took half a second": {35, new(growth.Seconds(0.5)), 2},
		"a rebuild that took a minute":      {500, new(growth.Seconds(60)), 1},
	} {
		t.Run(name, func(t *testing.T) {
			plan := divide([]loader.Running{{
				Job:         loader.Job{UID: "a", Weight: 1, Curve: loader.Curve{100, 150, 200}},
				Loaders:     1,
				Unchanged:   time.Hour,
				Remaining:   c.remaining,
				RebuildTime: c.rebuild,
			}}, 2)
			require.Equal(t, c.want, plan.Loaders["a"], plan.Reason)
		})
	}
}

// TestDivide_KeepsItsRulesOnRandomNodes: no node exceeds its budget, pods of one job get equal numbers, and dividing again
// changes nothing.
func TestDivide_KeepsItsRulesOnRandomNodes(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	for range 500 {
		nodes := randomRunning(rng)
		plan := loader.DefaultChangePolicy().Divide(nodes)
		byJob := map[string]int{}
		for i, n := range nodes {
			cores, before := 0, 0
			for k, r := range n.Running {
				before += max(1, r.Width) * r.Loaders
				cores += max(1, r.Width) * plan.Loaders[r.UID]
				if w, known := byJob[r.Gang]; known && r.Gang != "" {
					require.Equal(t, w, plan.Loaders[r.UID], "%+v got %v", nodes, plan)
				}
				byJob[r.Gang] = plan.Loaders[r.UID]
				nodes[i].Running[k].Loaders = plan.Loaders[r.UID]
			}
			require.LessOrEqual(t, cores, max(0, n.Budget, before), "%+v got %v", nodes, plan)
		}
		require.Equal(t, plan.Loaders, loader.DefaultChangePolicy().Divide(nodes).Loaders)
	}
}

func randomRunning(rng *rand.Rand) []loader.RunningNode {
	nodes := []loader.RunningNode{{Name: "n1"}, {Name: "n2"}}
	for i := range nodes {
		jobs, budget := randomJobs(rng)
		nodes[i].Budget = budget
		for k, j := range jobs {
			j.UID += growth.PodUID(nodes[i].Name)
			r := loader.Running{Job: j, Loaders: 1, Unchanged: time.Hour, Remaining: growth.Seconds(rng.IntN(1000))}
			if k < 2 {
				r.Gang = string(rune('a' + k))
			}
			nodes[i].Running = append(nodes[i].Running, r)
		}
	}
	return nodes
}
