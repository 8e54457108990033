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

// listenAgain is the pause after the driver could not be listened to.
const listenAgain = 10 * time.Second

// Ear hears a driver's faults, until ctx ends or it can not any more.
type Ear interface {
	Faults(ctx context.Context, tell func(gpu.Fault)) error
}

// Inventory is the list of GPUs, which a verdict changes.
type Inventory interface {
	Devices() ([]gpu.Device, <-chan struct{})
	Rejudge()
}

// Listener brings faults to the monitor, and keeps them over a restart.
type Listener struct {
	Ear       Ear
	Monitor   *Monitor
	Inventory Inventory
	Memory    Memory
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
		hearing, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- l.Ear.Faults(hearing, l.hear) }()
		err := l.until(ctx, ended)
		stop()
		if err == nil {
			continue
		}
		l.Log.Warn("faults of GPUs are not heard", "reason", err)
		select {
		case <-time.After(listenAgain):
		case <-ctx.Done():
		}
	}
	return nil
}

// until waits for other GPUs, or for an ear that goes deaf.
func (l *Listener) until(ctx context.Context, ended <-chan error) error {
	devices, changed := l.Inventory.Devices()
	heard := boards(devices)
	for {
		select {
		case err := <-ended:
			return err
		case <-ctx.Done():
			return nil
		case <-changed:
			devices, changed = l.Inventory.Devices()
			if !slices.Equal(boards(devices), heard) {
				return nil
			}
		}
	}
}

func boards(devices []gpu.Device) []growth.GPU {
	var all []growth.GPU
	for _, d := range devices {
		all = append(all, d.Board())
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (l *Listener) hear(f gpu.Fault) {
	action, hit := l.Monitor.Fault(time.Now(), f)
	for _, uuid := range hit {
		l.XIDs.WithLabelValues(string(uuid), number(f.XID), string(action)).Inc()
	}
	l.Log.Warn("a GPU reports a fault", "gpu", f.Board, "xid", f.XID, "action", action, "devices", hit)
	if action == Ignore {
		return
	}
	if err := l.Memory.Save(l.Monitor.Faults()); err != nil {
		l.Log.Warn("a restart of this plugin will forget a fault", "reason", err)
	}
	l.Inventory.Rejudge()
}

// number keeps a label's values few, whatever the driver says.
func number(xid uint64) string {
	if xid > maxXID {
		return "other"
	}
	return strconv.FormatUint(xid, 10)
}
