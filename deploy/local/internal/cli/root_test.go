//go:build linux

package cli

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCommands_Validate(t *testing.T) {
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
		"a target that is none":    {[]string{"build", "--only=lunch"}, "controlplane, node, registry, kueue, vpa, jobset, pytorchjob or older"},
		"a stock folder too bare":  {[]string{"build", "--stock-dir", t.TempDir()}, "lacks etcd"},
		"no image":                 {[]string{"load", root}, "requires at least 1 arg"},
		"an unknown component":     {[]string{"install", "--component=lunch", root}, "workers"},
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
