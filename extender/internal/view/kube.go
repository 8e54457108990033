package view

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// Inform starts the informers and hands their changes to Run, until ctx ends. The view is synced when both have told
// everything once.
func (k *Keeper) Inform(ctx context.Context, factory informers.SharedInformerFactory) error {
	pods, err := factory.Core().V1().Pods().Informer().AddEventHandler(k.pods(ctx))
	if err != nil {
		return fmt.Errorf("watching pods: %w", err)
	}
	nodes, err := factory.Core().V1().Nodes().Informer().AddEventHandler(k.nodes(ctx))
	if err != nil {
		return fmt.Errorf("watching nodes: %w", err)
	}
	factory.Start(ctx.Done())
	if cache.WaitForCacheSync(ctx.Done(), pods.HasSynced, nodes.HasSynced) {
		// Queued behind the changes of the first lists, hence applied after them.
		k.submit(ctx, Informed())
	}
	<-ctx.Done()
	factory.Shutdown()
	return nil
}

func (k *Keeper) pods(ctx context.Context) cache.ResourceEventHandler {
	set := func(object any, present bool) {
		if pod, ok := last(object).(*corev1.Pod); ok {
			k.submit(ctx, OnPod(pod, present))
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { set(object, true) },
		UpdateFunc: func(before, after any) {
			// One name, two pods: the informer may have missed the deletion between them.
			if old, ok := before.(*corev1.Pod); ok && old.UID != after.(*corev1.Pod).UID {
				set(before, false)
			}
			set(after, true)
		},
		DeleteFunc: func(object any) { set(object, false) },
	}
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
