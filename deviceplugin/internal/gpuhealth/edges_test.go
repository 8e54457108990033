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

// driver lists one GPU and reports what it is given.
type driver struct {
	faults chan gpu.Fault
	deaf   error
	ears   int
}

func (*driver) Devices(context.Context) ([]gpu.Device, error) { return []gpu.Device{fine}, nil }

func (d *driver) Faults(ctx context.Context, tell func(gpu.Fault)) error {
	d.ears++
	for d.deaf == nil {
		select {
		case f := <-d.faults:
			tell(f)
		case <-ctx.Done():
			return nil
		}
	}
	return d.deaf
}

// people remember what they are told.
type people struct {
	mu    sync.Mutex
	heard []string
}

func (p *people) told() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.heard)
}

func (p *people) Warning(_ context.Context, about apiserver.About, reason, message string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard = append(p.heard, reason+" "+about.Kind+" "+about.Name+": "+message)
	return nil
}

func (p *people) Notice(ctx context.Context, about apiserver.About, reason, message string) error {
	return p.Warning(ctx, about, reason, message)
}

func TestAFaultTakesAGPUOutAndTimeBringsItBack(t *testing.T) {
	dir := t.TempDir()
	bootID := filepath.Join(dir, "boot_id")
	require.NoError(t, os.WriteFile(bootID, []byte("this boot\n"), 0o600))
	memory := gpuhealth.Memory{Dir: dir, BootID: bootID}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		log := slog.New(slog.DiscardHandler)
		d := &driver{faults: make(chan gpu.Fault)}
		monitor := gpuhealth.New(gpuhealth.Config{
			Policy:       gpuhealth.Default,
			RecoverAfter: time.Minute,
			LossAfter:    time.Minute,
		})
		stock, err := gpu.Open(ctx, d, 1024, log, monitor)
		require.NoError(t, err)
		xids := gpuhealth.NewXIDs(prometheus.NewRegistry())
		audience := &people{}
		listener := &gpuhealth.Listener{
			Ear:       d,
			Monitor:   monitor,
			Inventory: stock,
			Memory:    memory,
			XIDs:      xids,
			Log:       log,
		}
		herald := gpuhealth.Herald{
			Node:      "n1",
			Inventory: stock,
			People:    audience,
			Log:       log,
			Holders: func(g growth.GPU) []growth.PodRef {
				require.Equal(t, growth.GPU("A"), g)
				return []growth.PodRef{{Namespace: "ns", Name: "p", UID: "u"}}
			},
		}
		go func() { _ = stock.Run(ctx, 10*time.Second, time.Second) }()
		go func() { _ = listener.Run(ctx) }()
		go func() { _ = herald.Run(ctx) }()
		healthy := func() bool {
			devices, _ := stock.Devices()
			return devices[0].Healthy
		}

		d.faults <- gpu.Fault{Board: "A", XID: 13}
		synctest.Wait()
		require.True(t, healthy())
		require.Empty(t, audience.told())

		d.faults <- gpu.Fault{Board: "A", XID: 74}
		synctest.Wait()
		require.False(t, healthy(), "at once")
		require.Len(t, audience.told(), 2)
		require.Contains(t, audience.told()[0], "GPUUnhealthy Node n1: GPU A takes no new jobs: XID 74")
		require.Contains(t, audience.told()[1], "GPUUnhealthy Pod p")
		require.Equal(t, 1.0, testutil.ToFloat64(xids.WithLabelValues("A", "74", "unhealthy")))
		kept, err := memory.Load()
		require.NoError(t, err)
		require.Equal(t, uint64(74), kept["A"].XID)

		time.Sleep(71 * time.Second)
		synctest.Wait()
		require.True(t, healthy())
		require.Len(t, audience.told(), 4)
		require.Contains(t, audience.told()[2], "GPUHealthy Node n1")
		require.Equal(t, 1, d.ears, "one ear all the while")
	})
}

func TestADeafDriverIsAskedAgainAndThatIsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 65*time.Second)
		defer cancel()
		log := slog.New(slog.DiscardHandler)
		d := &driver{deaf: errors.New("not supported")}
		stock, err := gpu.Open(ctx, d, 1024, log)
		require.NoError(t, err)
		l := &gpuhealth.Listener{
			Ear:       d,
			Monitor:   gpuhealth.New(gpuhealth.Config{}),
			Inventory: stock,
			Log:       log,
		}
		require.NoError(t, l.Run(ctx))
		require.Equal(t, 7, d.ears)
	})
}

func TestFaultsOutliveThePluginAndNotTheBoot(t *testing.T) {
	dir := t.TempDir()
	k := gpuhealth.Memory{Dir: dir, BootID: filepath.Join(dir, "boot_id")}
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
	m.Remember(again)
	m.Listed(time.Unix(9, 0), []gpu.Device{fine}, nil)
	require.Contains(t, m.Judged(time.Unix(9, 0), []gpu.Device{fine})[0].Reason, "XID 79")

	require.NoError(t, os.WriteFile(k.BootID, []byte("two"), 0o600))
	after, err := k.Load()
	require.NoError(t, err)
	require.Empty(t, after)

	require.NoError(t, os.WriteFile(filepath.Join(dir, gpuhealth.MemoryFile), []byte("{"), 0o600))
	_, err = k.Load()
	require.ErrorContains(t, err, "remove it")
}
