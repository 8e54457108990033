package recall

import (
	"encoding/json"

	"github.com/trellis-gpu/trellis/growth/node"
)

// legacyVersion is the version of the previous release, in which the parts of the state are separate fields.
const legacyVersion = 1

// legacy are the fields of version 1 that version 2 has in State. They are never written.
type legacy struct {
	Fair     json.RawMessage `json:"fair,omitempty"`
	Refusals json.RawMessage `json:"refusals,omitempty"`
	Ended    json.RawMessage `json:"ended,omitempty"`
}

// upgrade converts a file of version 1.
func (w *written) upgrade() (err error) {
	w.State, w.At, err = node.LegacyMemory(w.Fair, w.Refusals, w.Ended)
	return err
}
