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

// Inform watches pods and nodes, and submits their changes to Run, until ctx ends. The cache is synced once both watches
// have delivered their first lists.
func (c *Cache) Inform(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory) error {
	nodes, err := factory.Core().V1().Nodes().Informer().AddEventHandler(c.nodeHandler(ctx))
	if err != nil {
		return fmt.Errorf("watching nodes: %w", err)
	}
	factory.Start(ctx.Done())
	pods := c.podStore(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { pods.run(client) })
	if cache.WaitForCacheSync(ctx.Done(), pods.hasSynced, nodes.HasSynced) {
		// Queued behind the changes of the first lists, hence applied after them.
		c.submit(ctx, Informed())
	}
	<-ctx.Done()
	factory.Shutdown()
	watching.Wait()
	return nil
}

func (c *Cache) nodeHandler(ctx context.Context) cache.ResourceEventHandler {
	submit := func(object any, present bool) {
		if node, ok := lastState(object).(*corev1.Node); ok {
			c.submit(ctx, OnNode(node, present))
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { submit(object, true) },
		UpdateFunc: func(_, after any) { submit(after, true) },
		DeleteFunc: func(object any) { submit(object, false) },
	}
}

// lastState unwraps the object of a deletion that the watch missed.
func lastState(object any) any {
	if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		return tombstone.Obj
	}
	return object
}
