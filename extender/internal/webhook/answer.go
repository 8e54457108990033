package webhook

import (
	"encoding/json"
	"strconv"

	"github.com/trellis-gpu/trellis/extender/internal/scheduler"
)

// text is an answer that writes itself as JSON, for the verbs whose answers are long.
type text interface {
	appendJSON(to []byte) []byte
	// release says that it has been written.
	release()
}

// sorted is an ExtenderFilterResult in names.
type sorted scheduler.Filtered

func (f sorted) release() { scheduler.Filtered(f).Release() }

func (f sorted) appendJSON(to []byte) []byte {
	to = append(to, `{"NodeNames":[`...)
	first := len(to)
	for i, misfit := range f.Misfits {
		if misfit != nil {
			continue
		}
		if len(to) > first {
			to = append(to, ',')
		}
		to = appendString(to, f.Nodes[i])
	}
	to = append(to, `],"FailedNodes":`...)
	to = f.appendRefused(to, false)
	to = append(to, `,"FailedAndUnresolvableNodes":`...)
	to = f.appendRefused(to, true)
	return append(to, '}')
}

// appendRefused writes nodes and reasons. In a full cluster one reason holds for many nodes: it is encoded once in a row.
func (f sorted) appendRefused(to []byte, hopelessly bool) []byte {
	to = append(to, '{')
	first, last, from, end := len(to), "", 0, 0
	for i, misfit := range f.Misfits {
		if misfit == nil || misfit.Unresolvable != hopelessly {
			continue
		}
		if len(to) > first {
			to = append(to, ',')
		}
		to = append(appendString(to, f.Nodes[i]), ':')
		if misfit.Reason == last && end > 0 {
			to = append(to, to[from:end]...)
			continue
		}
		last, from = misfit.Reason, len(to)
		to = appendString(to, last)
		end = len(to)
	}
	return append(to, '}')
}

// rated is a HostPriorityList. A node without points is left out, for the scheduler adds nothing for a node that is not
// there, and spends microseconds on each that is: with a policy that few nodes stand out by, all of it is spared.
type rated scheduler.Rated

func (r rated) release() { scheduler.Rated(r).Release() }

func (r rated) appendJSON(to []byte) []byte {
	to = append(to, '[')
	first := len(to)
	for i, node := range r.Nodes {
		if r.Points[i] == 0 {
			continue
		}
		if len(to) > first {
			to = append(to, ',')
		}
		to = append(to, `{"Host":`...)
		to = append(appendString(to, node), `,"Score":`...)
		to = append(strconv.AppendInt(to, int64(r.Points[i]), 10), '}')
	}
	return append(to, ']')
}

// appendString writes printable ASCII as it is, and leaves the rest to encoding/json.
func appendString(to []byte, s string) []byte {
	if !plain(s) {
		encoded, _ := json.Marshal(s) // a string is always encodable
		return append(to, encoded...)
	}
	to = append(to, '"')
	to = append(to, s...)
	return append(to, '"')
}
