package pods

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/ledger"
	"github.com/trellis-gpu/trellis/growth"
)

// Watcher follows one node's pods. It implements ledger.Pods.
type Watcher struct {
	resource corev1.ResourceName
	informer cache.SharedIndexInformer
	log      *slog.Logger

	mu      sync.Mutex
	changed chan struct{}
}

// New prepares a watcher; Run starts it.
func New(client kubernetes.Interface, node growth.NodeName, resource string, log *slog.Logger) (*Watcher, error) {
	w := &Watcher{resource: corev1.ResourceName(resource), log: log, changed: make(chan struct{})}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", string(node)).String()
	}))
	w.informer = factory.Core().V1().Pods().Informer()
	if err := w.informer.SetTransform(w.reduced); err != nil {
		return nil, fmt.Errorf("watching pods: %w", err)
	}
	if err := w.informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		w.log.Warn("watching pods was interrupted, the last list stays", "reason", err)
	}); err != nil {
		return nil, fmt.Errorf("watching pods: %w", err)
	}
	_, err := w.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { w.announce() },
		UpdateFunc: func(_, _ any) { w.announce() },
		DeleteFunc: func(any) { w.announce() },
	})
	if err != nil {
		return nil, fmt.Errorf("watching pods: %w", err)
	}
	return w, nil
}

// Run watches until ctx ends.
func (w *Watcher) Run(ctx context.Context) error {
	go func() { // a node without pods is known too, though nothing changes
		if cache.WaitForCacheSync(ctx.Done(), w.informer.HasSynced) {
			w.announce()
		}
	}()
	w.informer.RunWithContext(ctx)
	return nil
}

func (w *Watcher) announce() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.changed)
	w.changed = make(chan struct{})
}

// Changed implements ledger.Pods.
func (w *Watcher) Changed() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changed
}

// Pods implements ledger.Pods.
func (w *Watcher) Pods() ([]ledger.Pod, bool) {
	known := w.informer.HasSynced()
	stored := w.informer.GetStore().List()
	pods := make([]ledger.Pod, 0, len(stored))
	for _, object := range stored {
		if p, ok := object.(*reduced); ok {
			pods = append(pods, p.pod)
		}
	}
	return pods, known
}

// reduced is what is kept of a pod: an object for the informer, with what the books need.
type reduced struct {
	metav1.ObjectMeta
	pod ledger.Pod
}

// reduced implements cache.TransformFunc.
func (w *Watcher) reduced(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok { // a tombstone, or reduced already
		return object, nil
	}
	return &reduced{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion},
		pod:        convert(pod, w.resource),
	}, nil
}
