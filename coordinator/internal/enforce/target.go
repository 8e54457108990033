package enforce

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/trellis-gpu/trellis/coordinator/internal/pods"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// Target is what one pod's CPU should be.
type Target struct {
	Pod growth.PodRef
	// From and To are the whole pod's requests, Requests the new ones by container.
	From, To growth.MilliCPU
	Requests pods.Requests
	// Share is the part of the node's pool that To is.
	Share growth.Share
	// Keep is the annotation with the requests the pod was made with; empty where it is on the pod already.
	Keep string
}

// Result is what became of one.
type Result struct {
	Target Target
	// Weight is the pod's cpu.shares or cpu.weight as read back, Verified whether it is the new one.
	Weight   int64
	Verified bool
	// Err is why the request could not be changed.
	Err error
}

// keeping is the patch that keeps the original requests. The UID in it makes it fail on another pod of that name.
func (t Target) keeping() ([]byte, error) {
	return json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": t.Pod.UID, "annotations": map[string]string{gpushare.RequestAnnotation: t.Keep},
	}})
}

// resizing is the strategic merge patch of the resize subresource: containers merge by name, so that nothing else of
// them is touched.
func (t Target) resizing() ([]byte, error) {
	type container struct {
		Name      string                      `json:"name"`
		Resources corev1.ResourceRequirements `json:"resources"`
	}
	containers := make([]container, 0, len(t.Requests))
	for name, request := range t.Requests {
		containers = append(containers, container{name, corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: *resource.NewMilliQuantity(int64(request), resource.DecimalSI),
		}}})
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": t.Pod.UID}, "spec": map[string]any{"containers": containers},
	})
	if err != nil {
		return nil, fmt.Errorf("writing the resize of %s: %w", t.Pod, err)
	}
	return patch, nil
}
