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
	"github.com/trellis-gpu/trellis/growth/node"
)

// Sink receives the pods of this node that ask for a share, and the accounts of all its pods.
type Sink interface {
	PodUpdated(node.Pod)
	PodDeleted(growth.PodUID)
	// PodAccounted is called for pods of any kind when their account changes. That of a pod that has ended is zero.
	PodAccounted(growth.PodUID, Account)
}

// Informer follows one node's pods.
type Informer struct {
	factory  informers.SharedInformerFactory
	informer cache.SharedIndexInformer
}

// NewInformer returns an informer. resource is the extended resource of GPU memory. Run starts it.
func NewInformer(
	client kubernetes.Interface, name growth.NodeName, resource corev1.ResourceName, sink Sink,
) (*Informer, error) {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", string(name)).String()
	}))
	informer := factory.Core().V1().Pods().Informer()
	accounts := accounts{sink: sink, last: map[growth.PodUID]Account{}}
	changed := func(object any) {
		pod, ok := object.(*corev1.Pod)
		if !ok {
			return
		}
		accounts.set(growth.PodUID(pod.UID), account(pod))
		if Ours(pod, resource) {
			sink.PodUpdated(Read(pod))
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    changed,
		UpdateFunc: func(_, now any) { changed(now) },
		DeleteFunc: func(object any) {
			if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = last.Obj
			}
			pod, ok := object.(*corev1.Pod)
			if !ok {
				return
			}
			accounts.set(growth.PodUID(pod.UID), Account{})
			if Ours(pod, resource) {
				sink.PodDeleted(growth.PodUID(pod.UID))
			}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("following the node's pods: %w", err)
	}
	return &Informer{factory: factory, informer: informer}, nil
}

// Run watches the pods until ctx ends.
func (i *Informer) Run(ctx context.Context) error {
	i.factory.Start(ctx.Done())
	<-ctx.Done()
	i.factory.Shutdown()
	return nil
}

// Synced reports whether the first list of pods is complete.
func (i *Informer) Synced() bool { return i.informer.HasSynced() }

const (
	// capacityPeriod is the time between two reads of the node's capacity, retryPeriod the time after a failed one.
	capacityPeriod = 5 * time.Minute
	retryPeriod    = 5 * time.Second
)

// FollowCapacity passes the CPU that the node can allocate to pods to set, until ctx ends.
func FollowCapacity(ctx context.Context, client kubernetes.Interface, name growth.NodeName, log *slog.Logger, set func(growth.MilliCPU)) error {
	for {
		pause := capacityPeriod
		found, err := client.CoreV1().Nodes().Get(ctx, string(name), metav1.GetOptions{})
		if err == nil {
			set(growth.MilliCPU(found.Status.Allocatable.Cpu().MilliValue()))
		} else if ctx.Err() == nil {
			log.Warn("the node's capacity is not known", "node", name, "err", err)
			pause = retryPeriod
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}
