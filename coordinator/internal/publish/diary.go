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

// notes are annotations that are not written yet, by name.
type notes map[string]string

// Diary writes onto pods.
type Diary struct {
	pods   corev1client.PodsGetter
	events record.EventRecorder
	log    *slog.Logger

	mu    sync.Mutex
	notes map[growth.PodRef]notes
}

// NewDiary writes through client; Run makes it write annotations.
func NewDiary(pods corev1client.PodsGetter, events record.EventRecorder, log *slog.Logger) *Diary {
	return &Diary{pods: pods, events: events, log: log, notes: map[growth.PodRef]notes{}}
}

// Recorder makes the recorder of events, and the function that ends it. A pod may have thirty events at once and one
// in ten seconds after that; each is kept as it is, since the numbers in it are what it tells.
func Recorder(client kubernetes.Interface, node growth.NodeName) (record.EventRecorder, func()) {
	broadcaster := record.NewBroadcasterWithCorrelatorOptions(record.CorrelatorOptions{BurstSize: 30, QPS: 0.1, MaxEvents: 100})
	broadcaster.StartRecordingToSink(&corev1client.EventSinkImpl{Interface: client.CoreV1().Events("")})
	source := corev1.EventSource{Component: "trellis-coordinator", Host: string(node)}
	return broadcaster.NewRecorder(scheme.Scheme, source), broadcaster.Shutdown
}

// Event tells people something about a pod. It never waits.
func (d *Diary) Event(pod growth.PodRef, warning bool, reason, message string) {
	kind := corev1.EventTypeNormal
	if warning {
		kind = corev1.EventTypeWarning
	}
	d.events.Event(&corev1.ObjectReference{
		Kind: "Pod", APIVersion: "v1", Namespace: pod.Namespace, Name: pod.Name, UID: types.UID(pod.UID),
	}, kind, reason, message)
}

// Annotate puts an annotation on a pod, sooner or later. It never waits.
func (d *Diary) Annotate(pod growth.PodRef, name, value string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.notes[pod] == nil {
		d.notes[pod] = notes{}
	}
	d.notes[pod][name] = value
}

// Run writes annotations until ctx ends.
func (d *Diary) Run(ctx context.Context) error {
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			d.flush(ctx)
		}
	}
}

func (d *Diary) flush(ctx context.Context) {
	d.mu.Lock()
	pending := d.notes
	d.notes = map[growth.PodRef]notes{}
	d.mu.Unlock()
	for pod, noted := range pending {
		err := d.annotate(ctx, pod, noted)
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			continue
		}
		d.log.Warn("annotations could not be put on their pod; it will be tried again", "pod", pod.String(), "reason", err)
		d.mu.Lock()
		maps.Copy(noted, d.notes[pod]) // what is newer wins
		d.notes[pod] = noted
		d.mu.Unlock()
	}
}

func (d *Diary) annotate(ctx context.Context, pod growth.PodRef, noted notes) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID, "annotations": noted}})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	_, err = d.pods.Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}
