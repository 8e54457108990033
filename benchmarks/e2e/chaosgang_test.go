//go:build e2e && linux

package e2e

import (
	"fmt"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/move"
)

// rankKills are the programs that are killed during moves of a job of two pods, each in a state of the pods that are to go. The stock
// API server of the extender's tests has all states.
var rankKills = []struct {
	victim string
	state  move.State
}{
	{"old coordinator", move.Saving}, {"extender", move.Saved}, {"bus", move.Evicted},
}

// disturbedRanks moves a job of two ranks several times, and kills a program during each move. The job ends with the parameters of one
// that was left alone.
func (m *moves) disturbedRanks(t *testing.T, seen *transitions, only *regexp.Regexp, began time.Time) (table []string) {
	kills := rankKills[:0:0]
	for _, k := range rankKills {
		if only.MatchString(k.victim+"/"+string(k.state)) && time.Since(began) <= *chaosWithin {
			kills = append(kills, k)
		}
	}
	if len(kills) == 0 {
		return nil
	}
	t.Run("ranks", func(t *testing.T) {
		undisturbed := startUndisturbedRanks(t)
		m.submitRanks(t)
		for i, k := range kills {
			first, second := m.trainingRank(t, "0", int64(60+150*i)), m.rank(t, "1")
			to := m.otherNode(map[string]bool{first.Spec.NodeName: true, second.Spec.NodeName: true})
			var once sync.Once
			seen.when(ddpName, func(now move.State) {
				if now == k.state {
					once.Do(func() { go m.kill(t, k.victim, first, to) }) // the log is read on meanwhile
				}
			})
			m.plugin(t, "move", first.Name, "-n", first.Namespace, "--to", to)
			next := m.continued(t, first, second)
			require.Equal(t, to, next[0].Spec.NodeName)
			require.Equal(t, second.Spec.NodeName, next[1].Spec.NodeName)
			table = append(table, fmt.Sprintf("%-28s two ranks moved", k.victim+"/"+string(k.state)))
		}
		m.ranksEnd(t)
		require.Equal(t, ddpResult.FindStringSubmatch(undisturbed())[1], ddpResult.FindStringSubmatch(m.log(t, m.rank(t, "0").Name))[1])
	})
	return table
}
