package fastpath

import (
	"encoding/json"
	"strconv"

	"github.com/trellis-gpu/trellis/growth/placement"
)

// AppendFilterResult appends an ExtenderFilterResult with names. statuses has, for each node, why the pod does not fit, or
// nil.
func AppendFilterResult(to []byte, nodes []string, statuses []*placement.Status) []byte {
	to = append(to, `{"NodeNames":[`...)
	first := len(to)
	for i, status := range statuses {
		if status != nil {
			continue
		}
		if len(to) > first {
			to = append(to, ',')
		}
		to = appendString(to, nodes[i])
	}
	to = append(to, `],"FailedNodes":`...)
	to = appendFailed(to, nodes, statuses, false)
	to = append(to, `,"FailedAndUnresolvableNodes":`...)
	to = appendFailed(to, nodes, statuses, true)
	return append(to, '}')
}

// appendFailed appends a map from nodes to reasons. In a full cluster many nodes in a row have the same reason, which is
// encoded once.
func appendFailed(to []byte, nodes []string, statuses []*placement.Status, unresolvable bool) []byte {
	to = append(to, '{')
	first, last, from, end := len(to), "", 0, 0
	for i, status := range statuses {
		if status == nil || status.Unresolvable != unresolvable {
			continue
		}
		if len(to) > first {
			to = append(to, ',')
		}
		to = append(appendString(to, nodes[i]), ':')
		if status.Reason == last && end > 0 {
			to = append(to, to[from:end]...)
			continue
		}
		last, from = status.Reason, len(to)
		to = appendString(to, last)
		end = len(to)
	}
	return append(to, '}')
}

// AppendHostPriorities appends a HostPriorityList without the nodes that have no points. kube-scheduler treats a missing
// node like one with 0 points, and spends microseconds on each entry.
func AppendHostPriorities(to []byte, nodes []string, points []int8) []byte {
	to = append(to, '[')
	first := len(to)
	for i, node := range nodes {
		if points[i] == 0 {
			continue
		}
		if len(to) > first {
			to = append(to, ',')
		}
		to = append(to, `{"Host":`...)
		to = append(appendString(to, node), `,"Score":`...)
		to = append(strconv.AppendInt(to, int64(points[i]), 10), '}')
	}
	return append(to, ']')
}

// appendString appends plain text as it is. encoding/json encodes the rest.
func appendString(to []byte, s string) []byte {
	if !plain(s) {
		encoded, _ := json.Marshal(s) // a string is always encodable
		return append(to, encoded...)
	}
	to = append(to, '"')
	to = append(to, s...)
	return append(to, '"')
}
