package cdi

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"tags.cncf.io/container-device-interface/pkg/cdi"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
)

const (
	// specName is our file's, without its ending.
	specName   = "gpushare-gpu"
	writeRetry = 5 * time.Second
)

// Writer keeps the specification true for as long as it runs.
type Writer struct {
	// Dir is a folder that the runtime reads specifications from, such as /var/run/cdi.
	Dir       string
	Host      Host
	Inventory interface {
		Devices() ([]gpu.Device, <-chan struct{})
	}
	Log *slog.Logger
}

// Write puts the specification of the present devices in place, in one step. What the CDI library does not take for valid
// is not written.
func (w Writer) Write() error {
	devices, _ := w.Inventory.Devices()
	spec, err := w.Host.Spec(devices)
	if err != nil {
		return err
	}
	cache, err := cdi.NewCache(cdi.WithSpecDirs(w.Dir), cdi.WithAutoRefresh(false))
	if err != nil {
		return fmt.Errorf("opening %s: %w", w.Dir, err)
	}
	if err := cache.WriteSpec(spec, specName); err != nil {
		return fmt.Errorf("writing the CDI specification: %w", err)
	}
	return nil
}

// Run writes at each change of the inventory, until ctx ends. The file stays: containers that are started again need it.
func (w Writer) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		_, changed := w.Inventory.Devices()
		retry := time.After(writeRetry)
		if err := w.Write(); err != nil {
			w.Log.Warn("the CDI specification is not up to date", "err", err)
		} else {
			retry = nil
		}
		select {
		case <-changed:
		case <-retry:
		case <-ctx.Done():
		}
	}
	return nil
}
