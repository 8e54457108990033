package cache

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// Inform follows pods, and nodes by informers, and hands their changes to Run, until ctx ends. The view is synced when both
// have told everything once.
func (k *Keeper) Inform(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory) error {
	nodes, err := factory.Core().V1().Nodes().Informer().AddEventHandler(k.nodes(ctx))
	if err != nil {
		return fmt.Errorf("watching nodes: %w", err)
	}
	factory.Start(ctx.Done())
	pods := k.follower(ctx)
	var following sync.WaitGroup
	following.Go(func() { pods.run(client) })
	if cache.WaitForCacheSync(ctx.Done(), pods.hasSynced, nodes.HasSynced) {
		// Queued behind the changes of the first lists, hence applied after them.
		k.submit(ctx, Informed())
	}
	<-ctx.Done()
	factory.Shutdown()
	following.Wait()
	return nil
}

func (k *Keeper) nodes(ctx context.Context) cache.ResourceEventHandler {
	set := func(object any, present bool) {
		if node, ok := last(object).(*corev1.Node); ok {
			k.submit(ctx, OnNode(node, present))
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { set(object, true) },
		UpdateFunc: func(_, after any) { set(after, true) },
		DeleteFunc: func(object any) { set(object, false) },
	}
}

// last unwraps the object of a deletion that the watch missed.
func last(object any) any {
	if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		return tombstone.Obj
	}
	return object
}
