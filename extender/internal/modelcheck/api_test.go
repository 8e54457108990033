package modelcheck

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// server is the fake API server. Its objects are immutable: each write stores a new one.
type server struct {
	version int
	pods    map[string]*corev1.Pod
	read    map[string]request.Pod // by package request
	names   []string               // in the order of their creation
	// notify is called for each change.
	notify func(pod *corev1.Pod, present bool)
}

var pods = corev1.Resource("pods")

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func (s *server) write(pod *corev1.Pod) {
	s.version++
	pod.ResourceVersion = strconv.Itoa(s.version)
	if s.pods[pod.Name] == nil {
		s.names = append(s.names, pod.Name)
	}
	s.pods[pod.Name] = pod
	s.read[pod.Name], _ = request.Read(pod, gpushare.Resource)
	s.notify(pod, true)
}

func (s *server) remove(name string) {
	pod := s.pods[name]
	delete(s.pods, name)
	delete(s.read, name)
	s.names = slices.DeleteFunc(s.names, func(n string) bool { return n == name })
	s.notify(pod, false)
}

// list returns pods in the order of their creation.
func (s *server) list(keep func(request.Pod) bool) []request.Pod {
	var list []request.Pod
	for _, name := range s.names {
		if pod := s.read[name]; keep(pod) {
			list = append(list, pod)
		}
	}
	return list
}

func (s *server) get(name string) (*corev1.Pod, error) {
	if pod, ok := s.pods[name]; ok {
		return pod.DeepCopy(), nil
	}
	return nil, apierrors.NewNotFound(pods, name)
}

func (s *server) bind(binding *corev1.Binding) error {
	pod, err := s.get(binding.Name)
	if err != nil {
		return err
	}
	if binding.UID != pod.UID || binding.ResourceVersion != pod.ResourceVersion || pod.Spec.NodeName != "" {
		return apierrors.NewConflict(pods, pod.Name, errors.New("precondition"))
	}
	if pod.DeletionTimestamp != nil {
		return apierrors.NewConflict(pods, pod.Name, errors.New("being deleted"))
	}
	pod.Spec.NodeName = binding.Target.Name
	maps.Copy(pod.Annotations, binding.Annotations)
	s.write(pod)
	return nil
}

// apiClient is a replica's client of the API server. Each call stops its coroutine.
type apiClient struct{ h *harness }

func (a apiClient) Pod(_ context.Context, _, name string) (pod *corev1.Pod, err error) {
	a.h.stop(func() error { pod, err = a.h.api.get(name); return err }, func(outcome int) error {
		pod = nil
		err = apierrors.NewInternalError(errors.New("etcdserver: request timed out"))
		return err
	})
	return pod, err
}

func (a apiClient) Bind(_ context.Context, binding *corev1.Binding) (err error) {
	a.h.stop(func() error { err = a.h.api.bind(binding); return err }, func(outcome int) error {
		err = apierrors.NewInternalError(errors.New("etcdserver: request timed out"))
		if outcome == refusedCall && len(binding.Name)%2 == 0 {
			err = apierrors.NewForbidden(pods, binding.Name, errors.New("no right to bind"))
		}
		return err
	})
	return err
}

func withPhase(pod *corev1.Pod, phase corev1.PodPhase) *corev1.Pod {
	pod = pod.DeepCopy()
	pod.Status.Phase = phase
	return pod
}

func terminating(pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	pod.DeletionTimestamp = &metav1.Time{}
	return pod
}
