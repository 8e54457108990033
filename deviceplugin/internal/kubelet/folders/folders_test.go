package folders_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet/folders"
)

// listen creates a socket on which somebody answers.
func listen(t *testing.T, socket string) {
	t.Helper()
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
}

// dir returns an empty folder with a path that is short enough for a socket.
func dir(t *testing.T) string {
	t.Helper()
	path, err := os.MkdirTemp("", "f")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(path) })
	return path
}

func TestPluginDir_IsTheOneWithKubelet(t *testing.T) {
	usual, other := dir(t), dir(t)
	require.Equal(t, usual, folders.PluginDir(usual))
	require.Equal(t, usual, folders.PluginDir(usual+","+other), "the first while kubelet answers in none")
	stale := filepath.Join(usual, "kubelet.sock")
	require.NoError(t, os.WriteFile(stale, nil, 0o600))
	listen(t, filepath.Join(other, "kubelet.sock"))
	require.Equal(t, other, folders.PluginDir(usual+","+other), "no kubelet answers at the stale socket")
	require.NoError(t, os.Remove(stale))
	listen(t, stale)
	require.Equal(t, usual, folders.PluginDir(usual+","+other))
}

func TestCheck_NamesTheMissingFolder(t *testing.T) {
	plugins, resources := dir(t), dir(t)
	check := folders.Check{
		PluginDirs:   plugins + ",/nowhere/device-plugins",
		PodResources: filepath.Join(resources, "kubelet.sock"),
		Timeout:      time.Millisecond,
	}
	err := check.Run(t.Context())
	require.ErrorContains(t, err, "kubelet does not answer at kubelet.sock in "+plugins+" or /nowhere/device-plugins")
	require.ErrorContains(t, err, "--kubelet-root DIR")

	listen(t, filepath.Join(plugins, "kubelet.sock"))
	err = check.Run(t.Context())
	require.ErrorContains(t, err, "kubelet does not answer at "+resources+"/kubelet.sock, its PodResources socket")
	require.ErrorContains(t, err, "--kubelet-root DIR")

	listen(t, filepath.Join(resources, "kubelet.sock"))
	require.NoError(t, check.Run(t.Context()))
}

func TestCheck_WaitsForARestartOfKubelet(t *testing.T) {
	plugins := dir(t)
	check := folders.Check{PluginDirs: plugins, PodResources: filepath.Join(plugins, "kubelet.sock"), Timeout: time.Minute}
	ended := make(chan error, 1)
	go func() { ended <- check.Run(t.Context()) }()
	listen(t, check.PodResources)
	require.NoError(t, <-ended)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, folders.Check{PluginDirs: dir(t), Timeout: time.Minute}.Run(ctx), "the process stops")
}
