package plugin_test

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/plugin"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// fakeLister returns one result after another.
type fakeLister [][]string

func (s *fakeLister) Allocatable(context.Context) ([]string, error) {
	now := (*s)[0]
	if len(*s) > 1 {
		*s = (*s)[1:]
	}
	return now, nil
}

func newRegistrar(t *testing.T, w *harness, s plugin.AllocatableLister) *plugin.Registrar {
	own := server(t, fakeAllocations{})
	return &plugin.Registrar{
		Dir:      w.kubelet.Dir,
		Resource: gpushare.Resource,
		Server:   own,
		Lister:   s,
		Metrics:  plugin.NewMetrics(prometheus.NewRegistry()),
		Log:      slog.New(slog.DiscardHandler),
	}
}

func TestRegistrar_SecondInstanceFails(t *testing.T) {
	w := newHarness(t, "emulated:2x24GiB")
	second := newRegistrar(t, w, &fakeLister{nil})
	err := second.Run(t.Context())
	require.ErrorContains(t, err, "another device plugin takes the place of this one")
	require.ErrorContains(t, err, "plugin.test", "the name of this test process")
	require.ErrorContains(t, err, plugin.SocketName)
	w.runPod(w.bindPod("p", 1, nil, main(8)))
	require.Equal(t, 1, w.kubelet.Registrations(), "the first plugin was not disturbed")
}

func TestRegistrar_ReplacesStaleSocket(t *testing.T) {
	w := newHarness(t, "emulated:2x24GiB")
	w.stopPlugin()
	path := filepath.Join(w.kubelet.Dir, plugin.SocketName)
	left, err := net.Listen("unix", path)
	require.NoError(t, err)
	left.(*net.UnixListener).SetUnlinkOnClose(false)
	require.NoError(t, left.Close())
	w.startPlugin("emulated:2x24GiB")
	require.Equal(t, 2, w.kubelet.Registrations())
}

func TestRegistrar_NamesPluginOfSameResource(t *testing.T) {
	w := newHarness(t, "emulated:2x24GiB")
	w.stopPlugin()
	err := newRegistrar(t, w, &fakeLister{{"GPU-a/0", "gpu-0_slice-7"}}).Run(t.Context())
	require.ErrorContains(t, err, `such as "gpu-0_slice-7"`)
	require.ErrorContains(t, err, "--resource")
}

func TestRegistrar_WaitsForStaleDevicesToExpire(t *testing.T) {
	w := newHarness(t, "emulated:2x24GiB")
	w.stopPlugin()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	registrar := newRegistrar(t, w, &fakeLister{{"a stale id"}, nil})
	done := make(chan error, 1)
	go func() { done <- registrar.Run(ctx) }()
	require.Eventually(t, registrar.Registered, 15*time.Second, 10*time.Millisecond)
	cancel()
	require.NoError(t, <-done)
}

// countingLister counts its calls.
type countingLister struct{ atomic.Int32 }

func (c *countingLister) Allocatable(context.Context) ([]string, error) {
	c.Add(1)
	return nil, nil
}

func TestRegistrar_RegistersBeforeConflictCheckAfterRestart(t *testing.T) {
	w := newHarness(t, "emulated:2x24GiB")
	w.stopPlugin()
	lister := &countingLister{}
	registrar := newRegistrar(t, w, lister)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- registrar.Run(ctx) }()
	w.eventually(func() bool {
		return w.kubelet.Registrations() == 2 && w.kubelet.Allocatable() > 0 && registrar.Registered()
	}, "registers after the first plugin has ended")
	require.NoError(w.t, w.kubelet.Restart())
	w.eventually(func() bool { return w.kubelet.Registrations() == 3 }, "registers again")
	cancel()
	require.NoError(t, <-done)
	require.EqualValues(t, 1, lister.Load(), "kubelet rejects pods until the plugin has registered")
}
