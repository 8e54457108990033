package flowcon

import (
	"github.com/trellis-gpu/trellis/benchmarks/internal/table"
	"github.com/trellis-gpu/trellis/benchmarks/internal/timeline"
)

// silent is a screen that shows nothing: several runs play at once, for hours.
type silent struct{}

func (silent) Say(table.Event)         {}
func (silent) Show(*timeline.Timeline) {}
func (silent) Done()                   {}
