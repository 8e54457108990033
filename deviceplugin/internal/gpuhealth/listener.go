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

// listenRetry is the pause after the driver could not be listened to.
const listenRetry = 10 * time.Second

// FaultSource hears a driver's faults, until ctx ends or it can not any more.
type FaultSource interface {
	Faults(ctx context.Context, tell func(gpu.Fault)) error
}

// Inventory is the list of GPUs, which a verdict changes.
type Inventory interface {
	Devices() ([]gpu.Device, <-chan struct{})
	Reevaluate()
}

// Listener brings faults to the monitor, and keeps them over a restart.
type Listener struct {
	Source    FaultSource
	Monitor   *Monitor
	Inventory Inventory
	Store     FaultStore
	// XIDs counts faults, by GPU, xid and action.
	XIDs *prometheus.CounterVec
	Log  *slog.Logger
}

// NewXIDs registers the counter of faults.
func NewXIDs(registry prometheus.Registerer) *prometheus.CounterVec {
	xids := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "trellis_deviceplugin_gpu_faults_total",
		Help: "XID errors that the driver reported, with what was done about them.",
	}, []string{"gpu", "xid", "action"})
	registry.MustRegister(xids)
	return xids
}

// Run listens until ctx ends. GPUs that are plugged in are listened to from the next list on.
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
		l.Log.Warn("faults of GPUs are not heard", "err", err)
		select {
		case <-time.After(listenRetry):
		case <-ctx.Done():
		}
	}
	return nil
}

// awaitChange waits for other GPUs, or for an ear that goes deaf.
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
		l.XIDs.WithLabelValues(string(uuid), parseNumber(f.XID), string(action)).Inc()
	}
	l.Log.Warn("a GPU reports a fault", "gpu", f.GPU, "xid", f.XID, "action", action, "devices", affected)
	if action == Ignore {
		return
	}
	if err := l.Store.Save(l.Monitor.Faults()); err != nil {
		l.Log.Warn("a restart of this plugin will forget a fault", "err", err)
	}
	l.Inventory.Reevaluate()
}

// parseNumber keeps a label's values few, whatever the driver says.
func parseNumber(xid uint64) string {
	if xid > maxXID {
		return "other"
	}
	return strconv.FormatUint(xid, 10)
}
