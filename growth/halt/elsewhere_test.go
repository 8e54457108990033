package halt_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/halt"
	"github.com/trellis-gpu/trellis/growth/wire"
)

func TestJob_RanksElsewhereStopByTheOrderOfTheLeader(t *testing.T) {
	var lead, other halt.Job
	lead.Reported(start, process(0), rank(0, 2), 40)
	other.Reported(start, process(1), rank(1, 2), 41)
	require.True(t, lead.Spans())
	_, due := lead.Next(start, true, 10)
	require.False(t, due, "the rank on the other node is not known yet")

	lead.Elsewhere(start, "b", other.Local())
	other.Elsewhere(start, "a", lead.Local())
	order, due := lead.Next(start, true, 10)
	require.True(t, due)
	require.Equal(t, wire.Stop{Sequence: 1, Stop: true, AfterStep: 43}, order)
	require.True(t, other.Follow(start, order))
	require.False(t, other.Follow(start, order), "once")

	lead.Answered(start, process(0), wire.Stopped{Sequence: 1, Step: 43, Stopped: true})
	require.False(t, lead.Stopped(), "the other rank makes its last steps")
	other.Answered(start, process(1), wire.Stopped{Sequence: 1, Step: 43, Stopped: true})
	lead.Elsewhere(start, "b", other.Local())
	other.Elsewhere(start, "a", lead.Local())
	require.True(t, lead.Stopped())
	require.True(t, other.Stopped())
	require.Len(t, lead.Processes(), 1, "those of this node")

	order, _ = lead.Next(start, false, 10)
	require.True(t, other.Follow(start, order))
	_, stop := other.Order()
	require.False(t, stop)
}

func TestJob_RankElsewherePassesTheStep(t *testing.T) {
	var lead halt.Job
	lead.Reported(start, process(0), rank(0, 2), 40)
	lead.Elsewhere(start, "b", []halt.Rank{{Rank: 1, WorldSize: 2, Step: 40}})
	order, _ := lead.Next(start, true, 1)
	require.Equal(t, int64(46), order.AfterStep, "the order passes the bus")
	lead.Elsewhere(start, "b", []halt.Rank{{Rank: 1, WorldSize: 2, Step: 50, Answer: 1, Answered: 50}})
	order, due := lead.Next(start.Add(time.Second), true, 1)
	require.True(t, due)
	require.Greater(t, order.AfterStep, int64(50+6))
}

func TestJob_ForgetsANodeThatSaysNothing(t *testing.T) {
	var j halt.Job
	j.Reported(start, process(0), rank(0, 2), 40)
	j.Elsewhere(start, "b", []halt.Rank{{Rank: 1, WorldSize: 2, Step: 40}})
	require.False(t, j.Incomplete())
	j.Elsewhere(start, "b", nil)
	require.True(t, j.Incomplete())
}

func TestJob_NumbersItsOrdersAfterThoseOfAnEarlierLeader(t *testing.T) {
	var j halt.Job
	j.Reported(start, process(0), rank(0, 2), 40)
	j.Elsewhere(start, "b", []halt.Rank{{Rank: 1, WorldSize: 2, Step: 40, Answer: 7}})
	order, _ := j.Next(start, true, 10)
	require.Equal(t, int64(8), order.Sequence)
}
