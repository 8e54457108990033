//go:build e2e && linux

package e2e

import (
	"fmt"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/movechaos"
	"github.com/trellis-gpu/trellis/growth/move"
)

// disturbedRanks moves a job of two ranks several times, and kills a program during each move. The job ends with the parameters of one
// that was left alone.
func (m *moves) disturbedRanks(t *testing.T, seen *transitions, memory *busMemory, only *regexp.Regexp, began time.Time) (table []string) {
	var kills []movechaos.Row
	for _, row := range movechaos.RankRows() {
		if only.MatchString(row.String()) && time.Since(began) <= *chaosWithin {
			kills = append(kills, row)
		}
	}
	if len(kills) == 0 {
		return nil
	}
	t.Run("ranks", func(t *testing.T) {
		m.rankSteps = len(kills) * ddpSteps
		undisturbed := startUndisturbedRanks(t, m.rankSteps)
		m.submitRanks(t)
		for i, k := range kills {
			first, second := m.trainingRank(t, "0", int64(60+150*i)), m.rank(t, "1")
			to := m.otherNode(map[string]bool{first.Spec.NodeName: true, second.Spec.NodeName: true})
			var once sync.Once
			seen.when(ddpName, func(now move.State) {
				if now == k.State {
					once.Do(func() { go m.kill(t, k.Victim, first, to) }) // the log is read on meanwhile
				}
			})
			m.plugin(t, "move", first.Name, "-n", first.Namespace, "--to", to)
			next := m.continued(t, first, second)
			require.Equal(t, to, next[0].Spec.NodeName)
			require.Equal(t, second.Spec.NodeName, next[1].Spec.NodeName)
			table = append(table, fmt.Sprintf("%-28s two ranks moved", k))
		}
		m.ranksEnd(t)
		require.Equal(t, ddpResult.FindStringSubmatch(undisturbed())[1], ddpResult.FindStringSubmatch(m.log(t, m.rank(t, "0").Name))[1])
		memory.isComplete(t)
	})
	return table
}
