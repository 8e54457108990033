//go:build linux

package cluster

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deploy/local/internal/process"
	"github.com/trellis-gpu/trellis/deploy/local/internal/state"
)

func TestFollow_ReadsMessagesOfTheSupervisor(t *testing.T) {
	tests := map[string]struct {
		progress, said, reason string
		ready                  bool
	}{
		"comes up":           {"say one\nsay two\nready\nsay late\n", "  one\n  two\n", "", true},
		"fails with reasons": {"say one\nfailed etcd ended\x00its last words\n", "  one\n", "etcd ended\nits last words", false},
		"dies":               {"say one\n", "  one\n", "the supervisor ended without a message", false},
		"noise":              {"hello\n\nready", "", "", true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			ready, reason := follow(strings.NewReader(tc.progress), &out)
			require.Equal(t, tc.ready, ready)
			if !tc.ready {
				require.Equal(t, tc.reason, reason)
			}
			require.Equal(t, tc.said, out.String())
		})
	}
}

func TestLastLines_OfTheLogInAnExit(t *testing.T) {
	log := filepath.Join(t.TempDir(), "etcd.log")
	require.NoError(t, os.WriteFile(log, []byte("first\n"+strings.Repeat("line\n", 11)+"last\n"), 0o644))
	exit := process.Exit{Name: "etcd", Log: log}
	words := lastLines(logIn(exit.Error()))
	require.NotContains(t, words, "first")
	require.True(t, strings.HasSuffix(words, "last"))
	require.Empty(t, lastLines("/nonexistent"))
}

func TestOptions_RefusesInvalidValues(t *testing.T) {
	good := Options{Root: state.DefaultRoot, Name: "trellis", Nodes: 2, CPUsPerNode: 1, NUMANodes: 1}
	require.NoError(t, good.Validate())
	for want, spoil := range map[string]func(*Options){
		"cores per node": func(w *Options) { w.CPUsPerNode = 100_000 },
		"NUMA nodes":     func(w *Options) { w.NUMANodes = 2 },
		"0 cores":        func(w *Options) { w.CPUsPerNode = 0 },
		"0 nodes":        func(w *Options) { w.Nodes = 0 },
		"lower-case":     func(w *Options) { w.Name = "A/b" },
		"absolute":       func(w *Options) { w.Root = "x" },
	} {
		bad := good
		spoil(&bad)
		require.ErrorContains(t, bad.Validate(), want)
	}
}

func TestRemoveHostFolders_KeepsOtherFolders(t *testing.T) {
	root := state.Root(t.TempDir())
	stranger := filepath.Join(t.TempDir(), "stranger")
	require.NoError(t, os.Mkdir(stranger, 0o755))
	require.NoError(t, os.WriteFile(hostFoldersFile(root), []byte(stranger+"\n"), 0o644))
	require.NoError(t, removeHostFolders(root))
	require.DirExists(t, stranger)
	require.NoFileExists(t, hostFoldersFile(root))
	require.NoError(t, removeHostFolders(root), "nothing noted, nothing to do")
}

func TestGetStatus_OfAnAbsentCluster(t *testing.T) {
	root := state.Root(t.TempDir())
	s, err := GetStatus(t.Context(), root, "never")
	require.NoError(t, err)
	require.Equal(t, "absent", s.State)
	var out bytes.Buffer
	require.NoError(t, s.Print(&out))
	require.Equal(t, "cluster never: absent\n", out.String())
	require.ErrorIs(t, Load(t.Context(), root, "never", nil, &out), state.ErrNone)
}
