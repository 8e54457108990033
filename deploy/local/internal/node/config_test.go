package node

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deploy/local/internal/network"
	"github.com/trellis-gpu/trellis/deploy/local/internal/state"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden files; check the differences before you commit them")

func exampleLayout(t *testing.T) Layout {
	plan, err := network.NewPlan("trellis", 2, nil)
	require.NoError(t, err)
	r := state.Record{Plan: plan, Stock: "/stock", Cores: map[string]string{"node-1": "0", "node-2": "1"}}
	l, err := NewLayout("/state/trellis", r, "node-2", "/trellis-trellis/node-2")
	require.NoError(t, err)
	return l
}

func TestConfig_MatchesGoldenFiles(t *testing.T) {
	for _, name := range []string{containerdConfig, networkConfig, kubeletConfig, proxyConfig, resolvConfig} {
		t.Run(name, func(t *testing.T) {
			got, err := exampleLayout(t).Config(name)
			require.NoError(t, err)
			golden := filepath.Join("testdata", name)
			if *rewrite {
				require.NoError(t, os.WriteFile(golden, got, 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), string(got))
		})
	}
	network, err := exampleLayout(t).Config(networkConfig)
	require.NoError(t, err)
	require.True(t, json.Valid(network))
}

func TestNewLayout_RefusesAnUnknownNode(t *testing.T) {
	_, err := NewLayout("/state/trellis", state.Record{}, "node-9", "")
	require.ErrorContains(t, err, `no node "node-9"`)
}
