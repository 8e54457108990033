package recreate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth/bus"
)

const (
	// interval is the time between two passes over the failed pods.
	interval = time.Second
	// minDelay is the delay before a pod is recreated. It doubles with each rejection. The last delay exceeds the lifetime of the
	// record of a stopped device plugin.
	minDelay = time.Second
)

// Bus is the part of the bus that a Recreator needs.
type Bus interface {
	List(ctx context.Context, prefix string) ([]bus.Entry, bus.Revision, error)
	Put(ctx context.Context, key string, value []byte, life bus.Lifetime, guards ...bus.Guard) (bus.Revision, error)
	Delete(ctx context.Context, key string, guards ...bus.Guard) error
}

// Recreator recreates rejected pods. It is for one goroutine.
type Recreator struct {
	Client   kubernetes.Interface
	Bus      Bus
	Resource corev1.ResourceName
	Log      *slog.Logger

	// seen are the rejected pods of the last pass.
	seen map[types.UID]sighting
}

// sighting is what a Recreator knows about a rejected pod.
type sighting struct {
	first time.Time
	// ran is what shows that the pod has run, or "".
	ran string
}

// Run recreates until ctx ends.
func (r *Recreator) Run(ctx context.Context) error {
	factory := informers.NewSharedInformerFactoryWithOptions(r.Client, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.FieldSelector = "status.phase=" + string(corev1.PodFailed)
	}))
	failed := factory.Core().V1().Pods().Lister()
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			pods, err := failed.List(labels.Everything())
			if err == nil {
				err = r.Recreate(ctx, pods, time.Now())
			}
			if err != nil && ctx.Err() == nil {
				r.Log.Warn("not all rejected pods could be recreated", "err", err)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// Recreate records the rejected pods among the failed ones, and recreates all recorded pods.
func (r *Recreator) Recreate(ctx context.Context, failed []*corev1.Pod, now time.Time) error {
	errs := r.recordAll(ctx, failed, now)
	entries, _, err := r.Bus.List(ctx, bus.Refusals)
	errs = append(errs, err)
	for _, entry := range entries {
		if err := r.recreate(ctx, entry); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", entry.Key, err))
		}
	}
	return errors.Join(errs...)
}

// recordAll records the pods whose delay is over on the bus, unless something shows that they have run.
func (r *Recreator) recordAll(ctx context.Context, failed []*corev1.Pod, now time.Time) (errs []error) {
	seen := map[types.UID]sighting{}
	for _, pod := range failed {
		if !refused(pod, r.Resource) || rejections(pod) >= maxRejections {
			continue
		}
		s, known := r.seen[pod.UID]
		if !known {
			s.first = now
			s.ran = ranBefore(pod)
			r.reportIfRan(ctx, pod, s.ran, now)
		}
		delayed := now.Sub(s.first) >= minDelay<<rejections(pod)
		if s.ran == "" && (!known || delayed) {
			var err error
			if s.ran, err = r.ranOnBus(ctx, pod, delayed); err != nil {
				errs = append(errs, err)
				continue // seen for the first time in the next pass
			}
			r.reportIfRan(ctx, pod, s.ran, now)
		}
		seen[pod.UID] = s
		if !delayed || s.ran != "" {
			continue
		}
		if err := r.record(ctx, pod); err != nil && !errors.Is(err, bus.ErrConflict) { // another replica was faster
			errs = append(errs, err)
		}
	}
	r.seen = seen
	return errs
}

// reportIfRan reports that a pod is not recreated. All replicas do, and each does again after a restart.
func (r *Recreator) reportIfRan(ctx context.Context, pod *corev1.Pod, ran string, now time.Time) {
	if ran == "" {
		return
	}
	r.Log.Info("a pod that kubelet rejected stays Failed, because it may have run", "pod", pod.Namespace+"/"+pod.Name,
		"uid", pod.UID, "reason", pod.Status.Reason, "evidence", ran)
	if written, known := statusTime(pod); known && now.Sub(written) < eventTime {
		r.recordStaysFailed(ctx, pod, ran)
	}
}

// record writes the new pod to the bus, once a dry run has shown that the API server accepts it.
func (r *Recreator) record(ctx context.Context, seen *corev1.Pod) error {
	pods := r.Client.CoreV1().Pods(seen.Namespace)
	pod, err := pods.Get(ctx, seen.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && pod.UID != seen.UID {
		return nil // another client was faster, and the informer lags
	}
	if err != nil {
		return err
	}
	if !Rejected(pod, r.Resource) {
		return nil // the informer lags
	}
	copied := Copy(pod)
	accepted, _ := Admissible(copied)
	dryRun := accepted.DeepCopy()
	dryRun.Name, dryRun.GenerateName = "", "again-"
	if _, err := pods.Create(ctx, dryRun, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		return fmt.Errorf("pod %s/%s, which kubelet rejected, stays as it is: %w", pod.Namespace, pod.Name, err)
	}
	text, err := json.Marshal(copied)
	if err != nil {
		return err
	}
	ref := request.Ref(pod)
	value, err := bus.Encode(bus.Refusal{
		Ref:     ref,
		Again:   text,
		Reason:  pod.Status.Reason,
		Message: pod.Status.Message,
	})
	if err != nil {
		return err
	}
	key := bus.RefusalKey(ref.UID)
	_, err = r.Bus.Put(ctx, key, value, bus.Persistent, bus.Absent(key))
	return err
}
