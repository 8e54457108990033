//go:build linux

package cli

import (
	"bytes"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

func TestEveryFlagHasAnEnvironmentTwin(t *testing.T) {
	env := map[string]string{"TRELLIS_STOCK_DIR": "/stock", "TRELLIS_NODES": "3", "TRELLIS_NAME": "env"}
	lookup := func(key string) (string, bool) { v, ok := env[key]; return v, ok }
	set := pflag.NewFlagSet("up", pflag.ContinueOnError)
	dir := set.String("stock-dir", "", "")
	nodes := set.Int("nodes", 2, "")
	name := set.String("name", "trellis", "")
	root := set.String("state-root", "/default", "")
	require.NoError(t, set.Parse([]string{"--name=flag"}))

	require.NoError(t, fromEnvironment(set, lookup))
	require.Equal(t, "/stock", *dir)
	require.Equal(t, 3, *nodes)
	require.Equal(t, "flag", *name, "the flag wins")
	require.Equal(t, "/default", *root)

	env["TRELLIS_NODES"] = "many"
	again := pflag.NewFlagSet("up", pflag.ContinueOnError)
	again.Int("nodes", 2, "")
	require.ErrorContains(t, fromEnvironment(again, lookup), "TRELLIS_NODES")
}

func TestWhatIsRefused(t *testing.T) {
	root := "--state-root=" + t.TempDir()
	tests := map[string]struct {
		args []string
		want string
	}{
		"a bad name":               {[]string{"down", "--name=../x", root}, "lower-case"},
		"a relative root":          {[]string{"status", "--state-root=x"}, "absolute"},
		"an unknown form":          {[]string{"status", "-o", "yaml", root}, "only json"},
		"an absent cluster":        {[]string{"kubeconfig", "--name=never", root}, "no such cluster (local up --name never)"},
		"no cluster to restart in": {[]string{"restart-kubelet", "--name=never", root}, "no such cluster"},
		"a target that is none":    {[]string{"build", "--only=lunch"}, "controlplane, node or registry"},
		"a stock folder too bare":  {[]string{"build", "--stock-dir", t.TempDir()}, "lacks etcd"},
		"no image":                 {[]string{"load", root}, "requires at least 1 arg"},
		"an unknown command":       {[]string{"explode"}, "unknown command"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			cmd := New("test")
			cmd.SetArgs(tc.args)
			cmd.SetOut(&bytes.Buffer{})
			cmd.SetErr(&bytes.Buffer{})
			require.ErrorContains(t, cmd.ExecuteContext(t.Context()), tc.want)
		})
	}
}
