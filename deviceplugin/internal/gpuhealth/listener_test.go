package gpuhealth_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/apiserver"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpuhealth"
	"github.com/trellis-gpu/trellis/growth"
)

// fakeDriver lists one GPU and reports given faults.
type fakeDriver struct {
	faults chan gpu.Fault
	err    error
	calls  int
}

func (*fakeDriver) Devices(context.Context) ([]gpu.Device, error) {
	return []gpu.Device{healthyGPU}, nil
}

func (d *fakeDriver) Faults(ctx context.Context, report func(gpu.Fault)) error {
	d.calls++
	for d.err == nil {
		select {
		case f := <-d.faults:
			report(f)
		case <-ctx.Done():
			return nil
		}
	}
	return d.err
}

// fakeEvents records events.
type fakeEvents struct {
	mu     sync.Mutex
	events []string
}

func (p *fakeEvents) recorded() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.events)
}

func (p *fakeEvents) Warning(_ context.Context, about apiserver.ObjectRef, reason, message string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events = append(p.events, reason+" "+about.Kind+" "+about.Name+": "+message)
	return nil
}

func (p *fakeEvents) Normal(ctx context.Context, about apiserver.ObjectRef, reason, message string) error {
	return p.Warning(ctx, about, reason, message)
}

func TestListener_FaultTakesGPUOutUntilQuiet(t *testing.T) {
	dir := t.TempDir()
	bootID := filepath.Join(dir, "boot_id")
	require.NoError(t, os.WriteFile(bootID, []byte("this boot\n"), 0o600))
	memory := gpuhealth.FaultStore{Dir: dir, BootID: bootID}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		log := slog.New(slog.DiscardHandler)
		d := &fakeDriver{faults: make(chan gpu.Fault)}
		monitor := gpuhealth.New(gpuhealth.Config{
			Policy:       gpuhealth.Default,
			RecoverAfter: time.Minute,
			LossAfter:    time.Minute,
		})
		inventory, err := gpu.Open(ctx, d, 1024, log, monitor)
		require.NoError(t, err)
		xids := gpuhealth.NewXIDs(prometheus.NewRegistry())
		events := &fakeEvents{}
		listener := &gpuhealth.Listener{
			Source:    d,
			Monitor:   monitor,
			Inventory: inventory,
			Store:     memory,
			XIDs:      xids,
			Log:       log,
		}
		recorder := gpuhealth.EventRecorder{
			Node:      "n1",
			Inventory: inventory,
			Events:    events,
			Log:       log,
			Holders: func(g growth.GPU) []growth.PodRef {
				require.Equal(t, growth.GPU("A"), g)
				return []growth.PodRef{{Namespace: "ns", Name: "p", UID: "u"}}
			},
		}
		go func() { _ = inventory.Run(ctx, 10*time.Second, time.Second) }()
		go func() { _ = listener.Run(ctx) }()
		go func() { _ = recorder.Run(ctx) }()
		healthy := func() bool {
			devices, _ := inventory.Devices()
			return devices[0].Healthy
		}

		d.faults <- gpu.Fault{GPU: "A", XID: 13}
		synctest.Wait()
		require.True(t, healthy())
		require.Empty(t, events.recorded())

		d.faults <- gpu.Fault{GPU: "A", XID: 74}
		synctest.Wait()
		require.False(t, healthy(), "at once")
		require.Len(t, events.recorded(), 2)
		require.Contains(t, events.recorded()[0], "GPUUnhealthy Node n1: GPU A takes no new jobs: XID 74")
		require.Contains(t, events.recorded()[1], "GPUUnhealthy Pod p")
		require.Equal(t, 1.0, testutil.ToFloat64(xids.WithLabelValues("A", "74", "unhealthy")))
		kept, err := memory.Load()
		require.NoError(t, err)
		require.Equal(t, uint64(74), kept["A"].XID)

		time.Sleep(71 * time.Second)
		synctest.Wait()
		require.True(t, healthy())
		require.Len(t, events.recorded(), 4)
		require.Contains(t, events.recorded()[2], "GPUHealthy Node n1")
		require.Equal(t, 1, d.calls, "the source was started once")
	})
}

func TestListener_RetriesUnsupportedDriver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 65*time.Second)
		defer cancel()
		log := slog.New(slog.DiscardHandler)
		d := &fakeDriver{err: errors.New("not supported")}
		inventory, err := gpu.Open(ctx, d, 1024, log)
		require.NoError(t, err)
		l := &gpuhealth.Listener{
			Source:    d,
			Monitor:   gpuhealth.New(gpuhealth.Config{}),
			Inventory: inventory,
			Log:       log,
		}
		require.NoError(t, l.Run(ctx))
		require.Equal(t, 7, d.calls)
	})
}

func TestFaultStore_KeepsFaultsUntilReboot(t *testing.T) {
	dir := t.TempDir()
	k := gpuhealth.FaultStore{Dir: dir, BootID: filepath.Join(dir, "boot_id")}
	require.NoError(t, os.WriteFile(k.BootID, []byte("one"), 0o600))
	none, err := k.Load()
	require.NoError(t, err)
	require.Empty(t, none)

	held := map[growth.GPU]gpuhealth.Fault{"A": {
		XID:     79,
		At:      time.Unix(5, 0).UTC(),
		Action:  gpuhealth.UntilReset,
		Strikes: 1,
	}}
	require.NoError(t, k.Save(held))
	again, err := k.Load()
	require.NoError(t, err)
	require.Equal(t, held, again)
	m := gpuhealth.New(gpuhealth.Config{Policy: gpuhealth.Default, RecoverAfter: time.Minute, LossAfter: time.Minute})
	m.Restore(again)
	m.Observe(time.Unix(9, 0), []gpu.Device{healthyGPU}, nil)
	require.Contains(t, m.Apply(time.Unix(9, 0), []gpu.Device{healthyGPU})[0].Reason, "XID 79")

	require.NoError(t, os.WriteFile(k.BootID, []byte("two"), 0o600))
	after, err := k.Load()
	require.NoError(t, err)
	require.Empty(t, after)

	require.NoError(t, os.WriteFile(filepath.Join(dir, gpuhealth.FaultFile), nil, 0o600))
	lost, err := k.Load()
	require.NoError(t, err, "a loss of power has left an empty file")
	require.Empty(t, lost)
	for _, invalid := range []string{"{", "\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, gpuhealth.FaultFile), []byte(invalid), 0o600))
		_, err = k.Load()
		require.ErrorContains(t, err, "remove it")
	}
	require.NoError(t, k.Save(held), "it replaces an invalid file")
	again, err = k.Load()
	require.NoError(t, err)
	require.Equal(t, held, again)
}
