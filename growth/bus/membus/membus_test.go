package membus_test

import (
	"testing"

	"github.com/trellis-gpu/trellis/growth/bus/bustest"
	"github.com/trellis-gpu/trellis/growth/bus/membus"
)

func TestContract(t *testing.T) {
	bustest.Run(t, func(*testing.T) bustest.Harness {
		b := membus.New()
		return bustest.Harness{Open: func(*testing.T) bustest.Process { return b.Session() }, Advance: b.Advance}
	})
}
