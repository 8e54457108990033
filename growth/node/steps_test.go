package node

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/wire"
)

func TestStepCounter_GoesBackToAnEarlierEpoch(t *testing.T) {
	var c stepCounter
	for epoch := range int64(4) {
		for step := int64(1); step <= 100; step++ {
			c.add(wire.Progress{Epoch: epoch, Step: step})
		}
	}
	require.Equal(t, int64(400), c.steps)
	c.add(wire.Progress{Epoch: 3, Step: 51})
	require.Equal(t, int64(351), c.steps, "a checkpoint in the same epoch")
	c.add(wire.Progress{Epoch: 2, Step: 11})
	require.Equal(t, int64(211), c.steps, "a checkpoint in an earlier epoch")
	c.add(wire.Progress{Epoch: 3, Step: 2})
	require.Equal(t, int64(213), c.steps, "the epoch starts after the steps that the job has made now")
	c.add(wire.Progress{Epoch: 0, Step: 1})
	require.Equal(t, int64(1), c.steps, "the job starts over")
}
