package publish

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/trellis-gpu/trellis/growth"
)

// annotations are values by name.
type annotations map[string]string

// Pods writes events and annotations of pods.
type Pods struct {
	pods   corev1client.PodsGetter
	events record.EventRecorder
	log    *slog.Logger

	mu      sync.Mutex
	pending map[growth.PodRef]annotations
}

// NewPods returns a writer. Run makes it write annotations.
func NewPods(pods corev1client.PodsGetter, events record.EventRecorder, log *slog.Logger) *Pods {
	return &Pods{pods: pods, events: events, log: log, pending: map[growth.PodRef]annotations{}}
}

// Recorder returns an event recorder, and the function that stops it. A pod may have a burst of 30 events, then one
// every 10 s. Events are not aggregated, because their numbers differ.
func Recorder(client kubernetes.Interface, node growth.NodeName) (record.EventRecorder, func()) {
	broadcaster := record.NewBroadcasterWithCorrelatorOptions(record.CorrelatorOptions{
		BurstSize: 30,
		QPS:       0.1,
		MaxEvents: 100,
	})
	broadcaster.StartRecordingToSink(&corev1client.EventSinkImpl{Interface: client.CoreV1().Events("")})
	source := corev1.EventSource{Component: "trellis-coordinator", Host: string(node)}
	return broadcaster.NewRecorder(scheme.Scheme, source), broadcaster.Shutdown
}

// Event records an event about a pod. It never blocks.
func (w *Pods) Event(pod growth.PodRef, warning bool, reason, message string) {
	kind := corev1.EventTypeNormal
	if warning {
		kind = corev1.EventTypeWarning
	}
	w.events.Event(&corev1.ObjectReference{
		Kind:       "Pod",
		APIVersion: "v1",
		Namespace:  pod.Namespace,
		Name:       pod.Name,
		UID:        types.UID(pod.UID),
	}, kind, reason, message)
}

// Annotate writes an annotation of a pod, within a second or as soon as the API server is available. It never blocks.
func (w *Pods) Annotate(pod growth.PodRef, name, value string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pending[pod] == nil {
		w.pending[pod] = annotations{}
	}
	w.pending[pod][name] = value
}

// Run writes annotations until ctx ends.
func (w *Pods) Run(ctx context.Context) error {
	ticker := time.NewTicker(flushPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			w.flush(ctx)
		}
	}
}

func (w *Pods) flush(ctx context.Context) {
	w.mu.Lock()
	pending := w.pending
	w.pending = map[growth.PodRef]annotations{}
	w.mu.Unlock()
	for pod, values := range pending {
		err := w.annotate(ctx, pod, values)
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			continue
		}
		w.log.Warn("annotations could not be written and will be retried", "pod", pod.String(), "err", err)
		w.mu.Lock()
		maps.Copy(values, w.pending[pod]) // newer values win
		w.pending[pod] = values
		w.mu.Unlock()
	}
}

func (w *Pods) annotate(ctx context.Context, pod growth.PodRef, values annotations) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID, "annotations": values}})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	_, err = w.pods.Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}
