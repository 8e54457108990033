package mover

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/growth/interference"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// A move goes where the extender would place the job: by the model that the tuner has learned, and by when jobs will end.
func TestMover_ChoosesGPUsByWhatIsKnown(t *testing.T) {
	model := interference.Prior()
	m := &Mover{Policy: placement.MarginalGrowth{}}
	known := &cache.Snapshot{Learned: &cache.Learned{Model: &model}, Stay: 64}
	require.Equal(t, placement.MarginalGrowth{Model: &model, Stay: 64}, m.policy(known))
	require.Equal(t, placement.MarginalGrowth{}, m.policy(&cache.Snapshot{}))
}
