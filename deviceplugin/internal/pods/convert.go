package pods

import (
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/ledger"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// pod is what is read of a Pod: the rest is never held.
type pod struct {
	Metadata struct {
		Namespace, Name, UID string
		CreationTimestamp    time.Time
		DeletionTimestamp    *time.Time
		Annotations          map[string]string
	}
	Spec struct {
		InitContainers, Containers []container
	}
	Status struct{ Phase string }
}

type container struct {
	Name          string
	RestartPolicy string
	Resources     struct {
		Limits map[string]resource.Quantity
	}
}

// converted keeps what the books need of a pod. Annotations that make no sense ask for one GPU: what kubelet counts is
// the resource limit, and admission has already said what is wrong.
func converted(p pod, resource string) ledger.Pod {
	kept := ledger.Pod{
		Ref:      growth.PodRef{Namespace: p.Metadata.Namespace, Name: p.Metadata.Name, UID: growth.PodUID(p.Metadata.UID)},
		Created:  p.Metadata.CreationTimestamp,
		Finished: p.Status.Phase == "Succeeded" || p.Status.Phase == "Failed",
		Leaving:  p.Metadata.DeletionTimestamp != nil,
		Count:    1,
	}
	if wish, err := gpushare.Parse(p.Metadata.Annotations); err == nil {
		kept.Count, kept.Cores = wish.Count, wish.Cores
	}
	for _, c := range p.Spec.InitContainers { // kubelet admits them first
		kept.Containers = appended(kept.Containers, c, resource, c.RestartPolicy != "Always")
	}
	for _, c := range p.Spec.Containers {
		kept.Containers = appended(kept.Containers, c, resource, false)
	}
	return kept
}

func appended(asking []ledger.Container, c container, resource string, init bool) []ledger.Container {
	limit, ok := c.Resources.Limits[resource]
	if units := limit.Value(); ok && units > 0 {
		asking = append(asking, ledger.Container{Name: c.Name, Units: int(units), Init: init})
	}
	return asking
}
