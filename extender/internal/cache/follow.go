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

// follower is the store into which client-go's Reflector puts pods. It hands them on and keeps the names of those that ask
// for a share, so that it can tell who is gone after a new list: an informer's cache would hold every pod of the cluster a
// second time, which is most of the memory in a large one.
type follower struct {
	keeper *Keeper
	ctx    context.Context //nolint:containedctx // a store's methods take none
	synced atomic.Bool

	mu   sync.Mutex
	asks map[growth.PodUID]struct{}
}

var _ cache.TransformingStore = &follower{}

func (k *Keeper) follower(ctx context.Context) *follower {
	return &follower{keeper: k, ctx: ctx, asks: map[growth.PodUID]struct{}{}}
}

// run follows the pods until the context ends; it begins again after errors.
func (f *follower) run(client kubernetes.Interface) {
	pods := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return client.CoreV1().Pods(metav1.NamespaceAll).Watch(ctx, o)
		},
	}, client)
	cache.NewReflectorWithOptions(pods, &corev1.Pod{}, f, cache.ReflectorOptions{Name: "pods"}).RunWithContext(f.ctx)
}

// hasSynced tells whether all pods have been handed on once.
func (f *follower) hasSynced() bool { return f.synced.Load() }

// Transformer makes the Reflector keep no pod whole while it collects the first list.
func (f *follower) Transformer() cache.TransformFunc {
	return func(object any) (any, error) { return f.see(object) }
}

// see reads a pod, or returns what was read already.
func (f *follower) see(object any) (seen, error) {
	switch o := object.(type) {
	case seen:
		return o, nil
	case *corev1.Pod:
		return see(o, f.keeper.state.resource), nil
	}
	return seen{}, fmt.Errorf("the API server told of a %T among pods", object)
}

// Add implements cache.ReflectorStore.
func (f *follower) Add(object any) error {
	s, err := f.see(object)
	if err != nil {
		return err
	}
	f.mu.Lock()
	_, known := f.asks[s.uid]
	if s.pod != nil {
		f.asks[s.uid] = struct{}{}
	} else {
		delete(f.asks, s.uid)
	}
	f.mu.Unlock()
	if known || s.pod != nil {
		f.keeper.submit(f.ctx, onSeen(s))
	}
	return nil
}

// Update implements cache.ReflectorStore.
func (f *follower) Update(object any) error { return f.Add(object) }

// Delete implements cache.ReflectorStore.
func (f *follower) Delete(object any) error {
	s, err := f.see(object)
	if err != nil {
		return err
	}
	s.pod = nil
	return f.Add(s)
}

// Replace implements cache.ReflectorStore: whoever is not in the list is gone.
func (f *follower) Replace(list []any, _ string) error {
	f.mu.Lock()
	gone := f.asks
	f.asks = make(map[growth.PodUID]struct{}, len(gone))
	f.mu.Unlock()
	for _, object := range list {
		s, err := f.see(object)
		if err != nil {
			return err
		}
		if s.pod != nil {
			delete(gone, s.uid)
		}
		if err := f.Add(s); err != nil {
			return err
		}
	}
	for uid := range gone {
		f.keeper.submit(f.ctx, onSeen(seen{uid: uid}))
	}
	f.synced.Store(true)
	return nil
}

// Resync implements cache.ReflectorStore.
func (f *follower) Resync() error { return nil }
