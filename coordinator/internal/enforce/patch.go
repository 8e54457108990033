package enforce

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
)

// precondition is the metadata that makes a patch fail for another pod of the same name, and for another version of the
// pod.
type precondition struct {
	UID             growth.PodUID     `json:"uid"`
	ResourceVersion string            `json:"resourceVersion,omitempty"`
	Annotations     map[string]string `json:"annotations,omitempty"`
}

// originalPatch returns the patch that saves the original requests in an annotation.
func originalPatch(r node.Resize, version string) ([]byte, error) {
	return json.Marshal(map[string]any{"metadata": precondition{
		UID:             r.Pod.UID,
		ResourceVersion: version,
		Annotations:     map[string]string{gpushare.RequestAnnotation: r.Original},
	}})
}

// resizePatch returns the strategic merge patch of the resize subresource. Containers are merged by name, so their
// other fields do not change.
func resizePatch(r node.Resize, version string) ([]byte, error) {
	type container struct {
		Name      string                      `json:"name"`
		Resources corev1.ResourceRequirements `json:"resources"`
	}
	containers := make([]container, 0, len(r.Requests))
	for name, request := range r.Requests {
		containers = append(containers, container{name, corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: *resource.NewMilliQuantity(int64(request), resource.DecimalSI),
		}}})
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": precondition{UID: r.Pod.UID, ResourceVersion: version},
		"spec":     map[string]any{"containers": containers},
	})
	if err != nil {
		return nil, fmt.Errorf("writing the patch: %w", err)
	}
	return patch, nil
}
