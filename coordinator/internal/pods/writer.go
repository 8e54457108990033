package pods

import (
	"bytes"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// resizedBy returns the field manager that set a CPU request of an app container through the resize subresource. If
// there are several, it returns one other than Trellis.
func resizedBy(p *corev1.Pod) string {
	return lastResizer(p, "f:cpu")
}

// lastResizer returns the field manager that set a request of an app container, by its name in field sets.
func lastResizer(p *corev1.Pod, request string) string {
	var found string
	for _, entry := range p.ManagedFields {
		if entry.Subresource != "resize" || entry.FieldsV1 == nil || !sets(entry.FieldsV1.GetRawBytes(), request) {
			continue
		}
		if found == "" || found == gpushare.FieldManager {
			found = entry.Manager
		}
	}
	return found
}

// sets reports whether a field set has a request of an app container.
func sets(fields []byte, request string) bool {
	if !bytes.Contains(fields, []byte(request)) {
		return false
	}
	var set struct {
		Spec struct {
			Containers map[string]json.RawMessage `json:"f:containers"`
		} `json:"f:spec"`
	}
	if json.Unmarshal(fields, &set) != nil {
		return false
	}
	for _, raw := range set.Spec.Containers {
		var container struct {
			Resources struct {
				Requests map[string]json.RawMessage `json:"f:requests"`
			} `json:"f:resources"`
		}
		if json.Unmarshal(raw, &container) != nil {
			continue
		}
		if _, ok := container.Resources.Requests[request]; ok {
			return true
		}
	}
	return false
}
