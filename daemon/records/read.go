package records

import (
	"github.com/go-json-experiment/json/v1"

	"github.com/trellis-gpu/trellis/growth/bus"
)

// Read reads a record that the caller does not write back, as bus.Read does.
func Read[T any, R bus.Record[T]](value []byte) (T, error) {
	return bus.Read[T, R](value, json.Unmarshal)
}
