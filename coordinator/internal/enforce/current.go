package enforce

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trellis-gpu/trellis/coordinator/internal/pods"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
)

// changedError is the error of a resize that was not made because another client has changed the requests since the
// decision.
type changedError struct {
	requests growth.MilliCPU
	by       string
}

func (e changedError) Error() string {
	by := e.by
	if by == "" {
		by = "another client"
	}
	return fmt.Sprintf("%s has changed it to %s meanwhile", by, e.requests)
}

// current reads a pod from the API server. The informer may not have seen its last change.
func (w *Worker) current(ctx context.Context, pod growth.PodRef) (*corev1.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	p, err := w.pods.Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	switch {
	case err != nil:
		return nil, err
	case growth.PodUID(p.UID) != pod.UID:
		return nil, errGone
	}
	return p, nil
}

// checkUnchanged returns an error if a pod has requests that were neither the base of the decision nor written by
// Trellis.
func checkUnchanged(p *corev1.Pod, r node.Resize) error {
	read := pods.Read(p)
	if maps.Equal(read.Requests(), r.Before) || read.ResizedBy == gpushare.FieldManager {
		return nil
	}
	return changedError{requests: read.Request(), by: read.ResizedBy}
}

// resizeOnce resizes a pod whose requests are those of the decision. Each patch has the resource version of the pod that
// was checked, so the API server answers Conflict if the pod has changed since.
func (w *Worker) resizeOnce(ctx context.Context, r node.Resize) error {
	p, err := w.current(ctx, r.Pod)
	if err != nil {
		return err
	}
	if err := checkUnchanged(p, r); err != nil {
		return err
	}
	if r.Original != "" && p.Annotations[gpushare.RequestAnnotation] != r.Original {
		patch, err := originalPatch(r, p.ResourceVersion)
		if err != nil {
			return fmt.Errorf("saving the original request: %w", err)
		}
		p, err = w.patch(ctx, r.Pod, types.MergePatchType, patch)
		if err != nil {
			return fmt.Errorf("saving the original request: %w", err)
		}
	}
	patch, err := resizePatch(r, p.ResourceVersion)
	if err != nil {
		return err
	}
	_, err = w.patch(ctx, r.Pod, types.StrategicMergePatchType, patch, "resize")
	return err
}

func (w *Worker) patch(
	ctx context.Context, pod growth.PodRef, kind types.PatchType, patch []byte, subresource ...string,
) (*corev1.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	options := metav1.PatchOptions{FieldManager: gpushare.FieldManager}
	return w.pods.Pods(pod.Namespace).Patch(ctx, pod.Name, kind, patch, options, subresource...)
}
