package webhook

import (
	"encoding/json"
	"strconv"

	"github.com/trellis-gpu/trellis/extender/internal/decide"
)

// text is an answer that writes itself as JSON, for the verbs whose answers are long.
type text interface {
	appendJSON(to []byte) []byte
}

// sorted is an ExtenderFilterResult in names.
type sorted decide.Filtered

func (f sorted) appendJSON(to []byte) []byte {
	to = append(to, `{"NodeNames":[`...)
	for i, name := range f.Fit {
		if i > 0 {
			to = append(to, ',')
		}
		to = appendString(to, name)
	}
	to = append(to, `],"FailedNodes":`...)
	to = appendReasons(to, f.Crowded)
	to = append(to, `,"FailedAndUnresolvableNodes":`...)
	to = appendReasons(to, f.Hopeless)
	return append(to, '}')
}

func appendReasons(to []byte, refused []decide.Refused) []byte {
	to = append(to, '{')
	for i, r := range refused {
		if i > 0 {
			to = append(to, ',')
		}
		to = append(appendString(to, r.Node), ':')
		to = appendString(to, r.Reason)
	}
	return append(to, '}')
}

// rated is a HostPriorityList.
type rated []decide.Rated

func (list rated) appendJSON(to []byte) []byte {
	to = append(to, '[')
	for i, r := range list {
		if i > 0 {
			to = append(to, ',')
		}
		to = append(to, `{"Host":`...)
		to = append(appendString(to, r.Node), `,"Score":`...)
		to = append(strconv.AppendInt(to, r.Points, 10), '}')
	}
	return append(to, ']')
}

// appendString writes printable ASCII as it is, and leaves the rest to encoding/json.
func appendString(to []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			encoded, _ := json.Marshal(s) // a string is always encodable
			return append(to, encoded...)
		}
	}
	to = append(to, '"')
	to = append(to, s...)
	return append(to, '"')
}
