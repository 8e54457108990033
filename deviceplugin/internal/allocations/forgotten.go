package allocations

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/apiserver"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/pods"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// forgottenReason is the reason of the event about forgotten devices.
const forgottenReason = "DevicesForgotten"

// forgotten returns the running containers for which kubelet lists the pod but no devices. Kubelet has then lost its
// checkpoint.
func (s Snapshot) forgotten(holdings []slice.Holding) []slice.Holding {
	if !s.PodsSynced {
		return nil
	}
	type container struct{ namespace, pod, name string }
	holds := make(map[container]bool, len(s.Devices))
	for _, d := range s.Devices {
		holds[container{d.Namespace, d.Pod, d.Container}] = true
	}
	listed := make(map[kubelet.PodName]bool, len(s.Listed))
	for _, name := range s.Listed {
		listed[name] = true
	}
	var forgotten []slice.Holding
	for _, h := range holdings {
		pod := podRef(h)
		known := listed[kubelet.PodName{Namespace: pod.Namespace, Name: pod.Name}]
		if known && h.Running && !h.Init && !holds[container{pod.Namespace, pod.Name, h.Container}] {
			forgotten = append(forgotten, h)
		}
	}
	return forgotten
}

// restore adds what kubelet has forgotten to its allocations: the running containers of pods that it lists in part, and
// pods that neither kubelet nor the bus has any more. Other records on the bus stay as they are.
func (s Snapshot) restore(actual map[growth.PodUID]bus.Allocation, holdings, forgotten []slice.Holding) {
	lost := map[growth.PodUID]struct{}{}
	for _, h := range forgotten {
		a, listed := actual[h.Pod]
		_, recorded := s.Recorded[h.Pod]
		switch {
		case listed:
			actual[h.Pod] = s.with(a, h)
		case !recorded:
			lost[h.Pod] = struct{}{}
		}
	}
	for _, h := range holdings {
		if _, isLost := lost[h.Pod]; isLost && !h.Init {
			a := actual[h.Pod]
			a.Pod = podRef(h)
			actual[h.Pod] = s.with(a, h)
		}
	}
}

// with returns the allocation with one more container.
func (s Snapshot) with(a bus.Allocation, h slice.Holding) bus.Allocation {
	parts, err := slice.Spread(h.IDs)
	if err != nil {
		return a
	}
	a.Containers = append(a.Containers, bus.ContainerAllocation{
		Name: h.Container,
		GPUs: slice.Shares(parts, s.Unit),
		IDs:  h.IDs,
		Slot: slice.Slot(h.IDs),
	})
	return a
}

// reportForgotten reports forgotten devices in the metric, and once in an event of the pod.
func (t *Tracker) reportForgotten(ctx context.Context, forgotten []slice.Holding) {
	units := 0
	podList, _ := t.Pods.Pods()
	maps.DeleteFunc(t.reported, func(uid growth.PodUID, _ struct{}) bool {
		return !slices.ContainsFunc(podList, func(p pods.Pod) bool { return p.Ref.UID == uid })
	})
	for _, h := range forgotten {
		units += len(h.IDs)
		if _, reported := t.reported[h.Pod]; reported || t.Events == nil {
			continue
		}
		t.Log.Warn("kubelet has forgotten the devices of a running container: they are kept for it",
			"pod", h.Name, "uid", h.Pod, "container", h.Container, "units", len(h.IDs))
		if err := t.Events.Warning(ctx, eventPod(h), forgottenReason, forgottenMessage(h, t.Unit)); err != nil {
			t.Log.Warn("an event about forgotten devices could not be recorded", "pod", h.Name, "err", err)
			break // the next reconciliation tries again
		}
		t.reported[h.Pod] = struct{}{}
	}
	t.Metrics.Forgotten.Set(float64(units))
}

func podRef(h slice.Holding) growth.PodRef {
	namespace, name, _ := strings.Cut(h.Name, "/")
	return growth.PodRef{Namespace: namespace, Name: name, UID: h.Pod}
}

func eventPod(h slice.Holding) apiserver.ObjectRef {
	ref := podRef(h)
	return apiserver.ObjectRef{Kind: "Pod", Namespace: ref.Namespace, Name: ref.Name, UID: string(ref.UID)}
}

func forgottenMessage(h slice.Holding, unit growth.MiB) string {
	return fmt.Sprintf("Kubelet has lost its record of the %s of GPU memory that container %s holds, because its file "+
		"kubelet_internal_checkpoint was lost or damaged. The container runs on, and no other pod gets this memory. If it "+
		"ends, kubelet cannot start it again until kubelet is restarted.", growth.MiB(len(h.IDs))*unit, h.Container)
}
