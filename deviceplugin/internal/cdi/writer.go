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
	// specName is the file name without its extension.
	specName   = "gpushare-gpu"
	writeRetry = 5 * time.Second
)

// Writer keeps the specification up to date.
type Writer struct {
	// Dir is a directory that the runtime reads specifications from, such as /var/run/cdi.
	Dir       string
	Host      Host
	Inventory interface {
		Devices() ([]gpu.Device, <-chan struct{})
	}
	Log *slog.Logger
}

// Write atomically writes the specification of the current devices. Invalid specifications are not written.
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

// Run writes after each change of the inventory, until ctx ends. The file stays, because restarted containers need
// it.
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
