package cluster_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
	"github.com/trellis-gpu/trellis/growth"
)

func TestDecodeState(t *testing.T) {
	answer, err := os.ReadFile("testdata/state.json")
	require.NoError(t, err)
	state, err := cluster.DecodeState(answer)
	require.NoError(t, err)
	require.True(t, state.Synced)
	require.Len(t, state.Nodes, 2)
	require.True(t, state.Nodes[0].GPUs.Emulated)
	require.Equal(t, 24*growth.GiB, state.Nodes[0].GPUs.GPUs[0].Memory)
	require.EqualValues(t, 1000, state.Nodes[0].Load.CPUPool)
	require.Nil(t, state.Nodes[1].Load, "a coordinator that is away is no error")
	require.Len(t, state.Jobs, 1)
	require.Equal(t, growth.Watching, state.Jobs[0].Sample.Category)
	require.Equal(t, 3, *state.Jobs[0].Advice.Loaders)
	require.Equal(t, 1, state.Refused, "a sample from the future is left out and counted")
}

func TestState_ReadsThroughTheAPIServer(t *testing.T) {
	var asked string
	connection := cluster.Connection{Proxy: func(_ context.Context, namespace, service, port, path string) (io.ReadCloser, error) {
		asked = strings.Join([]string{namespace, service, port, path}, " ")
		return io.NopCloser(strings.NewReader(`{"synced":false,"error":"the bus is unavailable"}`)), nil
	}}
	state, err := connection.State(t.Context())
	require.NoError(t, err)
	require.Equal(t, "trellis tuner http /api/v1/state", asked)
	require.Equal(t, "the bus is unavailable", state.Error)
}

func TestPrograms_CountsByNamespace(t *testing.T) {
	connection := cluster.Connection{Proxy: func(_ context.Context, _, _, _, path string) (io.ReadCloser, error) {
		require.Equal(t, "/api/v1/programs", path)
		return io.NopCloser(strings.NewReader(`{"programs":[{"namespace":"a"},{"namespace":"b"},{"namespace":"a"}]}`)), nil
	}}
	count, err := connection.Programs(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]int{"a": 2, "b": 1}, count)
}

func TestState_TunerUnavailable(t *testing.T) {
	connection := cluster.Connection{Proxy: func(context.Context, string, string, string, string) (io.ReadCloser, error) {
		return nil, errors.New("no endpoints available")
	}}
	_, err := connection.State(t.Context())
	require.ErrorContains(t, err, "asking the tuner: no endpoints available")
}

func FuzzDecodeState(f *testing.F) {
	answer, err := os.ReadFile("testdata/state.json")
	require.NoError(f, err)
	f.Add(answer)
	f.Add([]byte(`{"nodes":[{"gpus":null,"load":7}],"jobs":[{"sample":{"v":1},"advice":[]}]}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, answer []byte) {
		state, err := cluster.DecodeState(answer)
		if err != nil && (state.Synced || state.Jobs != nil) {
			t.Fatal("an error and a state at once")
		}
	})
}
