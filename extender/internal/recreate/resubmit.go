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

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

const (
	// every is how often what failed is looked through.
	every = time.Second
	// patience is how long a pod waits that was refused for the first time; twice as long each time after. The last is longer
	// than the record of a device plugin lives that has died.
	patience = time.Second
)

// Bus is the part of the state bus in use.
type Bus interface {
	List(ctx context.Context, prefix string) ([]bus.Entry, bus.Revision, error)
	Put(ctx context.Context, key string, value []byte, life bus.Lifetime, guards ...bus.Guard) (bus.Revision, error)
	Delete(ctx context.Context, key string, guards ...bus.Guard) error
}

// Resubmitter submits refused pods again. One goroutine uses it.
type Resubmitter struct {
	Client   kubernetes.Interface
	Bus      Bus
	Resource corev1.ResourceName
	Log      *slog.Logger

	// seen is when a refused pod was first looked at.
	seen map[types.UID]time.Time
}

// Run looks until ctx ends.
func (r *Resubmitter) Run(ctx context.Context) error {
	factory := informers.NewSharedInformerFactoryWithOptions(r.Client, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.FieldSelector = "status.phase=" + string(corev1.PodFailed)
	}))
	failed := factory.Core().V1().Pods().Lister()
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			pods, err := failed.List(labels.Everything())
			if err == nil {
				err = r.Once(ctx, pods, time.Now())
			}
			if err != nil && ctx.Err() == nil {
				r.Log.Warn("refused pods could not all be submitted again", "reason", err)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// Once takes down what was refused among the pods that failed, and goes on with all that is taken down.
func (r *Resubmitter) Once(ctx context.Context, failed []*corev1.Pod, now time.Time) error {
	errs := r.note(ctx, failed, now)
	entries, _, err := r.Bus.List(ctx, bus.Refusals)
	errs = append(errs, err)
	for _, entry := range entries {
		if err := r.submit(ctx, entry); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", entry.Key, err))
		}
	}
	return errors.Join(errs...)
}

// note writes pods that have waited long enough on the bus.
func (r *Resubmitter) note(ctx context.Context, failed []*corev1.Pod, now time.Time) (errs []error) {
	seen := map[types.UID]time.Time{}
	for _, pod := range failed {
		if !Refused(pod, r.Resource) {
			continue
		}
		first, known := r.seen[pod.UID]
		if !known {
			first = now
		}
		seen[pod.UID] = first
		if now.Sub(first) < patience<<refusals(pod) {
			continue
		}
		if err := r.take(ctx, pod); err != nil && !errors.Is(err, bus.ErrConflict) { // another replica was faster
			errs = append(errs, err)
		}
	}
	r.seen = seen
	return errs
}

// take writes down what is to be submitted, once the API server has said that it would take it.
func (r *Resubmitter) take(ctx context.Context, seen *corev1.Pod) error {
	pods := r.Client.CoreV1().Pods(seen.Namespace)
	pod, err := pods.Get(ctx, seen.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && pod.UID != seen.UID {
		return nil // somebody was faster, and our informer has not heard of it
	}
	if err != nil {
		return err
	}
	again := Again(pod)
	probe := again.DeepCopy()
	probe.Name, probe.GenerateName = "", "again-"
	if _, err := pods.Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		return fmt.Errorf("pod %s/%s, which kubelet refused, stays as it is: %w", pod.Namespace, pod.Name, err)
	}
	text, err := json.Marshal(again)
	if err != nil {
		return err
	}
	ref := growth.PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: growth.PodUID(pod.UID)}
	value, err := bus.Encode(bus.Refusal{Ref: ref, Again: text})
	if err != nil {
		return err
	}
	key := bus.RefusalKey(ref.UID)
	_, err = r.Bus.Put(ctx, key, value, bus.Persistent, bus.Absent(key))
	return err
}

// submit takes the steps that are left of one pod.
func (r *Resubmitter) submit(ctx context.Context, entry bus.Entry) error {
	refusal, err := bus.Decode[bus.Refusal](entry.Value)
	if err != nil {
		return err
	}
	again := &corev1.Pod{}
	if err := json.Unmarshal(refusal.Again, again); err != nil {
		return err
	}
	if err := r.replace(ctx, refusal.Ref, again); err != nil {
		return err // the record stays, and with it the pod
	}
	return r.Bus.Delete(ctx, entry.Key, bus.Unchanged(entry.Key, entry.Revision))
}

// replace makes the pod anew. It is done as well where somebody else has, or where the namespace is gone.
func (r *Resubmitter) replace(ctx context.Context, ref growth.PodRef, again *corev1.Pod) error {
	pods, now, uid := r.Client.CoreV1().Pods(ref.Namespace), int64(0), types.UID(ref.UID)
	err := pods.Delete(ctx, ref.Name, metav1.DeleteOptions{GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &uid}})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("deleting the pod that was refused: %w", err)
	}
	made, err := pods.Create(ctx, again, metav1.CreateOptions{})
	switch {
	case err == nil:
		r.Log.Info("a pod that kubelet refused is submitted again", "pod", ref.String(), "uid", made.UID)
		r.tell(ctx, made)
		return nil
	case apierrors.IsAlreadyExists(err):
		there, err := pods.Get(ctx, ref.Name, metav1.GetOptions{})
		if err == nil && there.UID == uid {
			err = errors.New("the pod that was refused is still there") // a finalizer holds it
		}
		return err
	case apierrors.IsNotFound(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil
	}
	return fmt.Errorf("submitting it again: %w", err)
}

// tell says on the new pod why it is one.
func (r *Resubmitter) tell(ctx context.Context, pod *corev1.Pod) {
	now := metav1.Now()
	_, err := r.Client.CoreV1().Events(pod.Namespace).Create(ctx, &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, GenerateName: pod.Name + "."},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
		},
		Type: corev1.EventTypeNormal, Reason: "Resubmitted", FirstTimestamp: now, LastTimestamp: now, Count: 1,
		Source: corev1.EventSource{Component: "trellis-extender"}, ReportingController: "trellis-extender",
		Message: "A kubelet that had just restarted, or whose device plugin had, refused this pod before it ran: Trellis has submitted it again",
	}, metav1.CreateOptions{})
	if err != nil {
		r.Log.Warn("an event could not be written", "pod", pod.Namespace+"/"+pod.Name, "reason", err)
	}
}
