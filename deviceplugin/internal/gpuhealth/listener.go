package gpuhealth

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/growth"
)

// listenRetry is the delay after the driver failed to report faults.
const listenRetry = 10 * time.Second

// FaultSource reports a driver's faults until ctx ends or the driver fails.
type FaultSource interface {
	Faults(ctx context.Context, report func(gpu.Fault)) error
}

// Inventory is the list of GPUs whose health the Monitor changes.
type Inventory interface {
	Devices() ([]gpu.Device, <-chan struct{})
	Reevaluate()
}

// Listener passes faults to the monitor and stores them for the next process.
type Listener struct {
	Source    FaultSource
	Monitor   *Monitor
	Inventory Inventory
	Store     FaultStore
	// XIDs counts faults by GPU, XID and action.
	XIDs *prometheus.CounterVec
	Log  *slog.Logger
}

// NewXIDs creates the counter of faults and registers it.
func NewXIDs(registry prometheus.Registerer) *prometheus.CounterVec {
	xids := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "trellis_deviceplugin_gpu_faults_total",
		Help: "XID errors that the driver reported, by the action taken.",
	}, []string{"gpu", "xid", "action"})
	registry.MustRegister(xids)
	return xids
}

// Run listens until ctx ends. It restarts the source when the set of GPUs changes.
func (l *Listener) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		listening, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- l.Source.Faults(listening, l.handle) }()
		err := l.awaitChange(ctx, ended)
		stop()
		if err == nil {
			continue
		}
		l.Log.Warn("GPU faults are not reported", "err", err)
		select {
		case <-time.After(listenRetry):
		case <-ctx.Done():
		}
	}
	return nil
}

// awaitChange returns nil when the set of GPUs changes or ctx ends, or the source's error.
func (l *Listener) awaitChange(ctx context.Context, ended <-chan error) error {
	devices, changed := l.Inventory.Devices()
	watched := physicalGPUs(devices)
	for {
		select {
		case err := <-ended:
			return err
		case <-ctx.Done():
			return nil
		case <-changed:
			devices, changed = l.Inventory.Devices()
			if !slices.Equal(physicalGPUs(devices), watched) {
				return nil
			}
		}
	}
}

func physicalGPUs(devices []gpu.Device) []growth.GPU {
	var all []growth.GPU
	for _, d := range devices {
		all = append(all, d.PhysicalGPU())
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (l *Listener) handle(f gpu.Fault) {
	action, affected := l.Monitor.RecordFault(time.Now(), f)
	for _, uuid := range affected {
		l.XIDs.WithLabelValues(string(uuid), xidLabel(f.XID), string(action)).Inc()
	}
	l.Log.Warn("a GPU reports a fault", "gpu", f.GPU, "xid", f.XID, "action", action, "devices", affected)
	if action == Ignore {
		return
	}
	if err := l.Store.Save(l.Monitor.Faults()); err != nil {
		l.Log.Warn("a fault could not be stored and will be lost at a restart", "err", err)
	}
	l.Inventory.Reevaluate()
}

// xidLabel bounds the number of label values.
func xidLabel(xid uint64) string {
	if xid > maxXID {
		return "other"
	}
	return strconv.FormatUint(xid, 10)
}
