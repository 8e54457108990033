package specon_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/remaining"
	"github.com/trellis-gpu/trellis/growth/specon"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func seconds(s float64) time.Time { return start.Add(growth.Seconds(s).Duration()) }

func everywhere(specon.Job, specon.Node) bool { return true }

// jobs returns jobs in categories that are written as P, W and C. Their ids are name-0, name-1 and so on, and a converged one
// has converged at its number, in seconds.
func jobs(name, categories string) (all []specon.Job) {
	for i, c := range categories {
		j := specon.Job{ID: growth.PodUID(fmt.Sprintf("%s-%d", name, i))}
		switch c {
		case 'P':
			j.Category = growth.Progressing
		case 'W':
			j.Category = growth.Watching
		case 'C':
			j.Category, j.Converged = growth.Converged, seconds(float64(i))
		}
		all = append(all, j)
	}
	return all
}

// cluster returns nodes a, b, c and so on.
func cluster(categories ...string) (nodes []specon.Node) {
	for i, c := range categories {
		name := string(rune('a' + i))
		nodes = append(nodes, specon.Node{Name: growth.NodeName(name), Jobs: jobs(name, c)})
	}
	return nodes
}

// sized returns nodes of one core with jobs of some remaining work, the moves of which cost some time.
func sized(work growth.Work, cost growth.Seconds, nodes []specon.Node) []specon.Node {
	for i := range nodes {
		nodes[i].CPU = growth.Core
		nodes[i] = changed(nodes[i], func(j *specon.Job) {
			j.Remaining, j.Limit, j.Cost = remaining.Exact(work), growth.Core, cost
		})
	}
	return nodes
}

// counts returns the number of jobs of each node after moves.
func counts(nodes []specon.Node, moves []specon.Move) map[growth.NodeName]int {
	n := map[growth.NodeName]int{}
	for _, node := range nodes {
		n[node.Name] = len(node.Jobs)
	}
	for _, m := range moves {
		n[m.From]--
		n[m.To]++
	}
	return n
}

// The paper's example: Job-1 converges on Worker-4 next to five others. Workers 1 to 3 have 3, 2 and 2 jobs; the scores are 6,
// 3.5, 4 and 11.
func TestWorkedExample(t *testing.T) {
	nodes := cluster("PPP", "PW", "PP", "CPPPPP")
	for i, score := range []float64{6, 3.5, 4, 11} {
		require.InDelta(t, score, nodes[i].Score(), 0)
	}
	literal, decides := specon.Literal(nodes, "d", "d-0")
	require.True(t, decides)
	require.Equal(t, specon.Move{Job: "d-0", From: "d", To: "b", Reason: specon.Speculative}, literal)
	require.Equal(t, []specon.Move{literal}, specon.Corrected(nodes, everywhere))
}

// The paper's other example: when Worker-4 is idle, two jobs each of Workers 2 and 3 are moved to it.
func TestIdleWorkerGetsJobsOfTheFullest(t *testing.T) {
	nodes := cluster("CCCC", "CCCCCC", "CCCCCC", "")
	moves := specon.Corrected(nodes, everywhere)
	require.Equal(t, map[growth.NodeName]int{"a": 4, "b": 4, "c": 4, "d": 4}, counts(nodes, moves))
	from := map[growth.NodeName]int{}
	for _, m := range moves {
		from[m.From]++
		require.Equal(t, specon.Rebalancing, m.Reason)
	}
	require.Equal(t, map[growth.NodeName]int{"b": 2, "c": 2}, from)
	require.Equal(t, growth.PodUID("c-5"), moves[0].Job, "the job that converged last has the longest to run")
}

func TestCorrected(t *testing.T) {
	fixed := cluster("CPPP", "P")
	fixed[0].Jobs[0].Fixed = "checkpoint is none"
	moved := cluster("CPPP", "P")
	moved[0].Jobs[0].Speculative = 1
	tests := map[string]struct {
		nodes []specon.Node
		fits  specon.Fits
		moves int
	}{
		"one other job that learns is enough":          {nodes: cluster("CPP", ""), moves: 1},
		"nobody learns next to it, and nobody is idle": {nodes: cluster("CCC", "PP"), moves: 0},
		"the job counts at the target, so it stays":    {nodes: cluster("CP", "P"), moves: 0},
		"no room":                                                  {nodes: cluster("CPPP", "P"), fits: func(specon.Job, specon.Node) bool { return false }},
		"a job that cannot be moved":                               {nodes: fixed},
		"at most one speculative move":                             {nodes: moved},
		"a node with a single job is never robbed":                 {nodes: cluster("C", "")},
		"after rebalancing no node has two more jobs than another": {nodes: cluster("CCCCC", "C", "C"), moves: 2},
		"no jobs":  {nodes: cluster("", "")},
		"one node": {nodes: cluster("CPP")},
		// A third of a core takes the job 30 s to its end, the idle node 10 s.
		"the job gains more than a move costs":      {nodes: sized(10, 19, cluster("CPP", "")), moves: 1},
		"the job does not gain what a move costs":   {nodes: sized(10, 20, cluster("CPP", ""))},
		"only one of two moves gains what it costs": {nodes: sized(10, 25, cluster("CCCC", "")), moves: 1},
		"rebalancing does not gain what it costs":   {nodes: sized(10, 30, cluster("CCCC", ""))},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.fits == nil {
				test.fits = everywhere
			}
			moves := specon.Corrected(test.nodes, test.fits)
			require.Len(t, moves, test.moves, "%+v", moves)
		})
	}
}

// Two jobs that converge at the same time do not go to one node because both see it as it was.
func TestCorrected_EachMoveIsAccounted(t *testing.T) {
	nodes := cluster("CCPPPP", "P", "P")
	moves := specon.Corrected(nodes, everywhere)
	require.Len(t, moves, 2)
	require.NotEqual(t, moves[0].To, moves[1].To)
}

// A converged job counts as one at its target too: the second job follows the first, for their node has a score of 1, and not of 2.
func TestCorrected_TheCategoryTravelsWithTheJob(t *testing.T) {
	nodes := cluster("CCPPP", "", "P")
	nodes[1].Use = 0.9
	moves := specon.Corrected(nodes, everywhere)
	require.Len(t, moves, 2)
	require.Equal(t, []growth.NodeName{"b", "b"}, []growth.NodeName{moves[0].To, moves[1].To})
}

func TestCorrected_OfEqualScoresTheNodeThatUsesLessCPU(t *testing.T) {
	nodes := cluster("CPPP", "P", "P")
	nodes[1].Use, nodes[2].Use = 0.9, 0.2
	moves := specon.Corrected(nodes, everywhere)
	require.Len(t, moves, 1)
	require.Equal(t, growth.NodeName("c"), moves[0].To)
}

// The decision that a job stays is not final: it moves once another node has become better.
func TestCorrected_AJobThatStaysMayMoveLater(t *testing.T) {
	require.Empty(t, specon.Corrected(cluster("CP", "P"), everywhere))
	require.Len(t, specon.Corrected(cluster("CPP", "P"), everywhere), 1)
}

func TestCorrected_NoJobMovesMoreThanTwice(t *testing.T) {
	nodes := cluster("CCCCCCCC", "")
	for i := range nodes[0].Jobs {
		nodes[0].Jobs[i].Speculative, nodes[0].Jobs[i].Rebalanced = 1, 1
	}
	require.Empty(t, specon.Corrected(nodes, everywhere))
}
