package enforce

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trellis-gpu/trellis/coordinator/internal/pods"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
)

// maxMemoryResizes bounds the changes of memory requests that wait. More are dropped; the node decides again.
const maxMemoryResizes = 256

// MemoryResult receives the result of a change of a memory request: that the API server has accepted it, or an error.
type MemoryResult func(r node.MemoryResize, err error)

type memoryResize struct {
	resize node.MemoryResize
	result MemoryResult
}

// Memory changes memory requests in the goroutine of a Worker.
type Memory struct {
	Worker *Worker
	Result MemoryResult
}

// EnforceMemory passes a change to the worker. It never blocks.
func (m Memory) EnforceMemory(r node.MemoryResize) {
	select {
	case m.Worker.memory <- memoryResize{resize: r, result: m.Result}:
	default:
		m.Worker.log.Warn("too many changes of memory requests wait, one is dropped", "pod", r.Pod.String())
	}
}

// resizeMemory changes a memory request unless another client has changed it since the decision.
func (w *Worker) resizeMemory(ctx context.Context, r node.MemoryResize) error {
	err := w.resizeMemoryOnce(ctx, r)
	for attempt := 1; attempt < maxAttempts && apierrors.IsConflict(err); attempt++ {
		err = w.resizeMemoryOnce(ctx, r)
	}
	if err != nil {
		return fmt.Errorf("resizing %s from %s to %s of memory: %w", r.Pod, r.From, r.To, err)
	}
	return nil
}

func (w *Worker) resizeMemoryOnce(ctx context.Context, r node.MemoryResize) error {
	p, err := w.current(ctx, r.Pod)
	if err != nil {
		return err
	}
	now := pods.Read(p).Memory
	if now.Container != r.Container || now.Request != r.From {
		return memoryChangedError{request: now.Request, by: now.ResizedBy}
	}
	if r.Original != "" && p.Annotations[gpushare.MemoryRequestAnnotation] == "" {
		patch, err := annotationPatch(r.Pod.UID, p.ResourceVersion, gpushare.MemoryRequestAnnotation, r.Original)
		if err != nil {
			return err
		}
		if p, err = w.patch(ctx, r.Pod, types.MergePatchType, patch); err != nil {
			return fmt.Errorf("saving the original request: %w", err)
		}
	}
	patch, err := memoryPatch(r, p.ResourceVersion)
	if err != nil {
		return err
	}
	_, err = w.patch(ctx, r.Pod, types.StrategicMergePatchType, patch, "resize")
	return err
}

func annotationPatch(pod growth.PodUID, version, name, value string) ([]byte, error) {
	return json.Marshal(map[string]any{"metadata": precondition{
		UID:             pod,
		ResourceVersion: version,
		Annotations:     map[string]string{name: value},
	}})
}

// memoryPatch returns the strategic merge patch of the resize subresource. The limit does not change.
func memoryPatch(r node.MemoryResize, version string) ([]byte, error) {
	return json.Marshal(map[string]any{
		"metadata": precondition{UID: r.Pod.UID, ResourceVersion: version},
		"spec": map[string]any{"containers": []any{map[string]any{
			"name": r.Container,
			"resources": corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceMemory: *resource.NewQuantity(int64(r.To)<<20, resource.BinarySI),
			}},
		}}},
	})
}

// memoryChangedError is the error of a change that was not made because another client has changed the request since the
// decision.
type memoryChangedError struct {
	request growth.MiB
	by      string
}

func (e memoryChangedError) Error() string {
	by := e.by
	if by == "" {
		by = "another client"
	}
	return fmt.Sprintf("%s has changed it to %s meanwhile", by, e.request)
}
