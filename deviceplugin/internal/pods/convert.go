package pods

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/gpushare/aliyun"
)

// pod is the part of a Pod that is decoded.
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
	Status struct {
		Phase                                    string
		InitContainerStatuses, ContainerStatuses []containerStatus
	}
}

type containerStatus struct {
	Name  string
	State struct{ Running *struct{} }
}

type container struct {
	Name          string
	RestartPolicy string
	Resources     struct {
		Limits map[string]string
	}
}

// convert returns the part of a pod that allocations depend on. Invalid annotations count as a request for one GPU:
// kubelet counts the resource limit, and admission has already reported the error.
func convert(p pod, resource string) Pod {
	result := Pod{
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
		result.GPUIndex = &number
	}
	if request, err := gpushare.ParseWithLimits(p.Metadata.Annotations); err == nil {
		result.Count = request.Count
		result.Cores = request.Cores
	}
	if saved, err := gpushare.ParseSaved(p.Metadata.Annotations[gpushare.SavedAnnotation]); err == nil && saved.IsBeforeMove() {
		result.Saved = &saved
	}
	for _, c := range p.Spec.InitContainers { // kubelet admits them first
		result.Containers = appendContainer(result.Containers, c, resource, c.RestartPolicy != "Always")
	}
	for _, c := range p.Spec.Containers {
		result.Containers = appendContainer(result.Containers, c, resource, false)
	}
	for i, c := range result.Containers {
		result.Containers[i].Running = isRunning(p, c.Name)
	}
	return result
}

// isRunning reports whether the pod's status has a running container of this name.
func isRunning(p pod, container string) bool {
	running := func(s containerStatus) bool { return s.Name == container && s.State.Running != nil }
	return slices.ContainsFunc(p.Status.ContainerStatuses, running) ||
		slices.ContainsFunc(p.Status.InitContainerStatuses, running)
}

func appendContainer(
	containers []Container, c container, resource string, init bool,
) []Container {
	if units := parseQuantity(c.Resources.Limits[resource]); units > 0 {
		containers = append(containers, Container{Name: c.Name, Units: units, Init: init})
	}
	return containers
}

// parseQuantity parses the quantity of an extended resource; 0 if there is none. The API server accepts only integers
// and writes them in the shortest form: 1000 is "1k".
func parseQuantity(quantity string) int {
	factor := 1
	for suffix, multiplier := range map[string]int{"k": 1e3, "M": 1e6, "Ki": 1 << 10, "Mi": 1 << 20} {
		if number, ok := strings.CutSuffix(quantity, suffix); ok {
			quantity = number
			factor = multiplier
		}
	}
	n, err := strconv.ParseInt(quantity, 10, 32)
	if err != nil {
		return 0
	}
	return int(n) * factor
}
