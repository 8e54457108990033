package history

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/tuner/internal/clustertest"
)

func TestDecode_DropsOnlyTheStateOfASample(t *testing.T) {
	cluster := clustertest.Cluster{Jobs: 1, Nodes: 1, Rounds: 3}
	value, err := bus.Encode(cluster.Sample(0))
	require.NoError(t, err)
	want, err := bus.Read[bus.Sample](value, json.Unmarshal)
	require.NoError(t, err)
	require.NotEmpty(t, want.State)
	want.State = nil
	decoded, err := decode(bus.Entry{Key: bus.SampleKey("0a1b"), Value: value})
	require.NoError(t, err)
	require.Equal(t, &want, decoded.sample)
}
