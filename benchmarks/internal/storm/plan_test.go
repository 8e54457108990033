package storm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/storm"
)

var nodes = []string{"node-1", "node-2"}

func TestNewPlan_DependsOnTheSeedOnly(t *testing.T) {
	plan := storm.NewPlan(7, 1, 200, nodes)
	require.Equal(t, plan, storm.NewPlan(7, 1, 200, nodes))
	require.NotEqual(t, plan.Pods(), storm.NewPlan(8, 1, 200, nodes).Pods())
	require.NotEqual(t, plan.Pods(), storm.NewPlan(7, 3, 200, nodes).Pods())
}

func TestNewPlan_FitsTheNodes(t *testing.T) {
	for seed := range uint64(200) {
		for round := range 2 {
			plan := storm.NewPlan(seed, round, 200, nodes)
			pods := plan.Pods()
			require.Len(t, pods, 200)
			sizes, names, standing := map[int]bool{}, map[string]bool{}, 0
			for i, p := range pods {
				sizes[p.Units], names[p.Name] = true, true
				require.LessOrEqual(t, p.Units, 24)
				if p.Standing {
					standing += p.Units
					require.GreaterOrEqual(t, i, 192, "the last pods are the standing ones")
				}
			}
			require.Len(t, names, 200)
			require.LessOrEqual(t, standing, 2*24, "the largest of the other pods fits on a GPU wherever the standing pods are")
			require.Equal(t, round == 1, len(sizes) > 1, "equal sizes in even rounds, mixed ones in odd")
			struck := map[storm.Victim][]string{}
			for _, strike := range plan.Strikes {
				struck[strike.Victim] = append(struck[strike.Victim], strike.Node)
				require.Less(t, strike.After, 192-1, "before all but the standing pods have ended")
			}
			for _, victim := range []storm.Victim{storm.Kubelet, storm.Plugin} {
				require.ElementsMatch(t, nodes, struck[victim])
			}
			for i, strike := range plan.Strikes[1:] {
				require.Greater(t, strike.After, plan.Strikes[i].After+20, "kills are apart")
			}
			require.Zero(t, plan.Pauses[0])
			require.Len(t, plan.Pauses, len(plan.Bursts))
		}
	}
}
