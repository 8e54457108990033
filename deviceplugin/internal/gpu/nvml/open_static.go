//go:build !cgo

package nvml

import (
	"errors"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
)

// Open returns an error, since this build cannot use the driver.
func Open() (gpu.Driver, error) {
	return nil, errors.New(
		"this is a static build without NVML: use one built with CGO_ENABLED=1, or choose --gpus=emulated:2x24GiB")
}
