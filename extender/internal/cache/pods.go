package cache

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/trellis-gpu/trellis/growth"
)

// podStore is the store of client-go's Reflector for pods. It forwards pods to the cache, and keeps only the UIDs of those
// that request a share: pods that are missing from a new list were deleted. An informer would keep every pod, and in a large
// cluster that is most of the memory.
type podStore struct {
	cache  *Cache
	ctx    context.Context //nolint:containedctx // a store's methods take none
	synced atomic.Bool

	mu       sync.Mutex
	requests map[growth.PodUID]struct{}
}

var _ cache.TransformingStore = &podStore{}

func (c *Cache) podStore(ctx context.Context) *podStore {
	return &podStore{cache: c, ctx: ctx, requests: map[growth.PodUID]struct{}{}}
}

// run lists and watches pods until the context ends, and restarts after errors.
func (s *podStore) run(client kubernetes.Interface) {
	pods := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return client.CoreV1().Pods(metav1.NamespaceAll).Watch(ctx, o)
		},
	}, client)
	cache.NewReflectorWithOptions(pods, &corev1.Pod{}, s, cache.ReflectorOptions{Name: "pods"}).RunWithContext(s.ctx)
}

// hasSynced reports whether the first list has been forwarded.
func (s *podStore) hasSynced() bool { return s.synced.Load() }

// Transformer keeps the Reflector from holding whole pods while it collects the first list.
func (s *podStore) Transformer() cache.TransformFunc {
	return func(object any) (any, error) { return s.read(object) }
}

// read converts a pod to an update. It returns an update, which Transformer has made, unchanged.
func (s *podStore) read(object any) (podUpdate, error) {
	switch o := object.(type) {
	case podUpdate:
		return o, nil
	case *corev1.Pod:
		return newPodUpdate(o, s.cache.state.resource), nil
	}
	return podUpdate{}, fmt.Errorf("the API server returned a %T in a list or watch of pods", object)
}

// Add implements cache.ReflectorStore.
func (s *podStore) Add(object any) error {
	update, err := s.read(object)
	if err != nil {
		return err
	}
	s.mu.Lock()
	_, known := s.requests[update.uid]
	if update.pod != nil {
		s.requests[update.uid] = struct{}{}
	} else {
		delete(s.requests, update.uid)
	}
	s.mu.Unlock()
	if known || update.pod != nil {
		s.cache.submit(s.ctx, onPodUpdate(update))
	}
	return nil
}

// Update implements cache.ReflectorStore.
func (s *podStore) Update(object any) error { return s.Add(object) }

// Delete implements cache.ReflectorStore.
func (s *podStore) Delete(object any) error {
	update, err := s.read(object)
	if err != nil {
		return err
	}
	update.pod = nil
	return s.Add(update)
}

// Replace implements cache.ReflectorStore. Pods that are not in the list were deleted.
func (s *podStore) Replace(list []any, _ string) error {
	s.mu.Lock()
	deleted := s.requests
	s.requests = make(map[growth.PodUID]struct{}, len(deleted))
	s.mu.Unlock()
	for _, object := range list {
		update, err := s.read(object)
		if err != nil {
			return err
		}
		if update.pod != nil {
			delete(deleted, update.uid)
		}
		if err := s.Add(update); err != nil {
			return err
		}
	}
	for uid := range deleted {
		s.cache.submit(s.ctx, onPodUpdate(podUpdate{uid: uid}))
	}
	s.synced.Store(true)
	return nil
}

// Resync implements cache.ReflectorStore.
func (s *podStore) Resync() error { return nil }
