package plugin_test

import (
	"context"
	"net"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRegistrar_NamesRunningPluginOfSameGPUs(t *testing.T) {
	for socket, words := range map[string][]string{
		"aliyungpushare.sock": {"Aliyun gpushare's device plugin", "delete its DaemonSet"},
		"nvidia-gpu.sock":     {"the device plugin of NVIDIA or of HAMi", "keep its DaemonSet off"},
	} {
		t.Run(socket, func(t *testing.T) {
			w := newHarness(t, "emulated:2x24GiB")
			w.stopPlugin()
			path := filepath.Join(w.kubelet.Dir, socket)
			theirs, err := net.Listen("unix", path)
			require.NoError(t, err)
			t.Cleanup(func() { _ = theirs.Close() })

			err = newRegistrar(t, w, &fakeLister{nil}).Run(t.Context())
			require.ErrorContains(t, err, "another device plugin takes the place of this one")
			require.ErrorContains(t, err, path)
			require.ErrorContains(t, err, "plugin.test", "the name of this test process")
			for _, word := range words {
				require.ErrorContains(t, err, word)
			}
			w.startPlugin("emulated:2x24GiB") // no other plugin allocates emulated GPUs
		})
	}
}

func TestRegistrar_IgnoresStaleSocketOfOtherPlugin(t *testing.T) {
	w := newHarness(t, "emulated:2x24GiB")
	w.stopPlugin()
	left, err := net.Listen("unix", filepath.Join(w.kubelet.Dir, "aliyungpushare.sock"))
	require.NoError(t, err)
	left.(*net.UnixListener).SetUnlinkOnClose(false)
	require.NoError(t, left.Close())
	registrar := newRegistrar(t, w, &fakeLister{nil})
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { done <- registrar.Run(ctx) }()
	w.eventually(registrar.Registered, "the plugin registers")
	cancel()
	require.NoError(t, <-done)
}
