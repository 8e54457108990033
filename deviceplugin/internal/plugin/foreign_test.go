package plugin_test

import (
	"context"
	"net"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestALivePluginOfTheSameGPUsIsNamed(t *testing.T) {
	for socket, words := range map[string][]string{
		"aliyungpushare.sock": {"gpushare's device plugin", "delete its DaemonSet"},
		"nvidia-gpu.sock":     {"the device plugin of NVIDIA or of HAMi", "keep its DaemonSet off"},
	} {
		t.Run(socket, func(t *testing.T) {
			w := newWorld(t, "emulated:2x24GiB")
			w.ends()
			path := filepath.Join(w.kubelet.Dir, socket)
			theirs, err := net.Listen("unix", path)
			require.NoError(t, err)
			t.Cleanup(func() { _ = theirs.Close() })

			err = lifeIn(t, w, &served{nil}).Run(t.Context())
			require.ErrorContains(t, err, "another device plugin is in our place")
			require.ErrorContains(t, err, path)
			require.ErrorContains(t, err, "plugin.test", "told by its name: it is this very process")
			for _, word := range words {
				require.ErrorContains(t, err, word)
			}
			w.plug("emulated:2x24GiB") // nobody else hands emulated GPUs out
		})
	}
}

func TestASocketThatAForeignPluginLeftIsNoRival(t *testing.T) {
	w := newWorld(t, "emulated:2x24GiB")
	w.ends()
	left, err := net.Listen("unix", filepath.Join(w.kubelet.Dir, "aliyungpushare.sock"))
	require.NoError(t, err)
	left.(*net.UnixListener).SetUnlinkOnClose(false)
	require.NoError(t, left.Close())
	life := lifeIn(t, w, &served{nil})
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { done <- life.Run(ctx) }()
	w.eventually(life.Registered, "the plugin registers")
	cancel()
	require.NoError(t, <-done)
}
