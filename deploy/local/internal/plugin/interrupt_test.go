package plugin_test

import (
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A user who stops a drain leaves no files behind. The pods that were asked to move still do.
func TestPlugin_LeavesNoFilesWhenInterrupted(t *testing.T) {
	// A test that runs in the background may ignore these signals, and then the script would too.
	received := make(chan os.Signal, 1)
	signal.Notify(received, syscall.SIGHUP, syscall.SIGINT)
	defer signal.Stop(received)
	for name, code := range map[string]int{"HUP": 129, "INT": 130, "TERM": 143} {
		t.Run(name, func(t *testing.T) {
			scratch := t.TempDir()
			t.Setenv("TMPDIR", scratch)
			t.Setenv("INTERRUPT", name)
			got := run(t, "emptied", "drain", "node-1")
			require.Equal(t, code, got.code, got.err)
			require.Contains(t, got.commands, "sleep 2\n")
			left, err := os.ReadDir(scratch)
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}
