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

// served is what kubelet says it has, one answer after another.
type served [][]string

func (s *served) Served(context.Context) ([]string, error) {
	now := (*s)[0]
	if len(*s) > 1 {
		*s = (*s)[1:]
	}
	return now, nil
}

func lifeIn(t *testing.T, w *world, s plugin.Served) *plugin.Life {
	own := server(t, crowd{})
	return &plugin.Life{
		Dir:      w.kubelet.Dir,
		Resource: gpushare.Resource,
		Server:   own,
		Served:   s,
		Metrics:  plugin.NewMetrics(prometheus.NewRegistry()),
		Log:      slog.New(slog.DiscardHandler),
	}
}

func TestASecondPluginDoesNotTakeTheFirstOnesPlace(t *testing.T) {
	w := newWorld(t, "emulated:2x24GiB")
	second := lifeIn(t, w, &served{nil})
	err := second.Run(t.Context())
	require.ErrorContains(t, err, "another device plugin is in our place")
	require.ErrorContains(t, err, "plugin.test", "told by its name: it is this very process")
	require.ErrorContains(t, err, plugin.SocketName)
	w.run(w.bind("p", 1, nil, main(8)))
	require.Equal(t, 1, w.kubelet.Registrations(), "the first was not disturbed")
}

func TestASocketThatACrashLeftIsNoRival(t *testing.T) {
	w := newWorld(t, "emulated:2x24GiB")
	w.ends()
	path := filepath.Join(w.kubelet.Dir, plugin.SocketName)
	left, err := net.Listen("unix", path)
	require.NoError(t, err)
	left.(*net.UnixListener).SetUnlinkOnClose(false)
	require.NoError(t, left.Close())
	w.plug("emulated:2x24GiB")
	require.Equal(t, 2, w.kubelet.Registrations())
}

func TestAnotherPluginOfTheSameResourceIsNamed(t *testing.T) {
	w := newWorld(t, "emulated:2x24GiB")
	w.ends()
	err := lifeIn(t, w, &served{{"GPU-a/0", "gpu-0_slice-7"}}).Run(t.Context())
	require.ErrorContains(t, err, `such as "gpu-0_slice-7"`)
	require.ErrorContains(t, err, "--resource")
}

func TestWhatKubeletHasNotForgottenYetIsNoRival(t *testing.T) {
	w := newWorld(t, "emulated:2x24GiB")
	w.ends()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	life := lifeIn(t, w, &served{{"an old one"}, nil})
	done := make(chan error, 1)
	go func() { done <- life.Run(ctx) }()
	require.Eventually(t, life.Registered, 15*time.Second, 10*time.Millisecond)
	cancel()
	require.NoError(t, <-done)
}

// counted is asked for rivals so often.
type counted struct{ atomic.Int32 }

func (c *counted) Served(context.Context) ([]string, error) {
	c.Add(1)
	return nil, nil
}

func TestAKubeletThatWasRestartedIsNotAskedForRivalsFirst(t *testing.T) {
	w := newWorld(t, "emulated:2x24GiB")
	w.ends()
	asked := &counted{}
	life := lifeIn(t, w, asked)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- life.Run(ctx) }()
	w.eventually(func() bool { return w.kubelet.Registrations() == 2 && w.kubelet.Allocatable() > 0 && life.Registered() }, "registers, as the one that ended did")
	w.kubelet.Restart()
	w.eventually(func() bool { return w.kubelet.Registrations() == 3 }, "registers again")
	cancel()
	require.NoError(t, <-done)
	require.EqualValues(t, 1, asked.Load(), "every moment that kubelet does not know us costs pods")
}
