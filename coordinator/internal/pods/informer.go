package pods

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/trellis-gpu/trellis/growth"
)

// Sink is told about pods of this node that ask for a share.
type Sink interface {
	PodChanged(Pod)
	PodGone(growth.PodUID)
}

// Informer follows one node's pods.
type Informer struct {
	factory  informers.SharedInformerFactory
	informer cache.SharedIndexInformer
}

// NewInformer makes one; Run starts it.
func NewInformer(client kubernetes.Interface, node growth.NodeName, sink Sink) (*Informer, error) {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", string(node)).String()
	}))
	informer := factory.Core().V1().Pods().Informer()
	changed := func(object any) {
		if pod, ok := object.(*corev1.Pod); ok && Ours(pod) {
			sink.PodChanged(Read(pod))
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    changed,
		UpdateFunc: func(_, now any) { changed(now) },
		DeleteFunc: func(object any) {
			if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = last.Obj
			}
			if pod, ok := object.(*corev1.Pod); ok && Ours(pod) {
				sink.PodGone(growth.PodUID(pod.UID))
			}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("following the node's pods: %w", err)
	}
	return &Informer{factory: factory, informer: informer}, nil
}

// Run follows until ctx ends.
func (i *Informer) Run(ctx context.Context) error {
	i.factory.Start(ctx.Done())
	<-ctx.Done()
	i.factory.Shutdown()
	return nil
}

// Synced tells whether all pods have been seen once.
func (i *Informer) Synced() bool { return i.informer.HasSynced() }

// allocatableEvery is how often the node's size is looked at; until it is known, as often as retryEvery.
const (
	allocatableEvery = 5 * time.Minute
	retryEvery       = 5 * time.Second
)

// FollowAllocatable tells how much CPU pods can have on the node, until ctx ends.
func FollowAllocatable(ctx context.Context, client kubernetes.Interface, node growth.NodeName, log *slog.Logger, tell func(growth.MilliCPU)) error {
	for {
		pause := allocatableEvery
		found, err := client.CoreV1().Nodes().Get(ctx, string(node), metav1.GetOptions{})
		if err == nil {
			tell(growth.MilliCPU(found.Status.Allocatable.Cpu().MilliValue()))
		} else if ctx.Err() == nil {
			log.Warn("the node's size is not known", "node", node, "reason", err)
			pause = retryEvery
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}
