package pods

import (
	"strconv"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/allocations"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/gpushare/aliyun"
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
		Limits map[string]string
	}
}

// converted keeps what the books need of a pod. Annotations that make no sense ask for one GPU: what kubelet counts is
// the resource limit, and admission has already said what is wrong.
func converted(p pod, resource string) allocations.Pod {
	kept := allocations.Pod{
		Ref: growth.PodRef{
			Namespace: p.Metadata.Namespace,
			Name:      p.Metadata.Name,
			UID:       growth.PodUID(p.Metadata.UID),
		},
		Created:     p.Metadata.CreationTimestamp,
		Finished:    p.Status.Phase == "Succeeded" || p.Status.Phase == "Failed",
		Terminating: p.Metadata.DeletionTimestamp != nil,
		Count:       1,
		Planned:     gpushare.ParseGPUs(p.Metadata.Annotations[gpushare.GPUAnnotation]),
	}
	if number, ok := aliyun.Index(p.Metadata.Annotations); ok {
		kept.GPUIndex = &number
	}
	if wish, err := gpushare.Parse(p.Metadata.Annotations); err == nil {
		kept.Count = wish.Count
		kept.Cores = wish.Cores
	}
	for _, c := range p.Spec.InitContainers { // kubelet admits them first
		kept.Containers = appended(kept.Containers, c, resource, c.RestartPolicy != "Always")
	}
	for _, c := range p.Spec.Containers {
		kept.Containers = appended(kept.Containers, c, resource, false)
	}
	return kept
}

func appended(asking []allocations.Container, c container, resource string, init bool) []allocations.Container {
	if units := whole(c.Resources.Limits[resource]); units > 0 {
		asking = append(asking, allocations.Container{Name: c.Name, Units: units, Init: init})
	}
	return asking
}

// whole reads the quantity of an extended resource, 0 where there is none. The API server takes whole numbers only, and
// writes them in its shortest form: 1000 is "1k".
func whole(quantity string) int {
	factor := 1
	for suffix, times := range map[string]int{"k": 1e3, "M": 1e6, "Ki": 1 << 10, "Mi": 1 << 20} {
		if number, ok := strings.CutSuffix(quantity, suffix); ok {
			quantity = number
			factor = times
		}
	}
	n, err := strconv.ParseInt(quantity, 10, 32)
	if err != nil {
		return 0
	}
	return int(n) * factor
}
