package loop_test

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/trellis-gpu/trellis/coordinator/internal/enforce"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/cgroup"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/jobfile"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/lines"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/socket"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// The harness is all ports of the loop.

func (h *harness) Open(_ context.Context, slot string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open[slot] = true
	return nil
}

func (h *harness) Close(slot string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.open, slot)
	delete(h.sent, slot)
	delete(h.duties, slot)
}

func (h *harness) Send(slot string, c wire.Config) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sent[slot] = c
	return nil
}

func (h *harness) SendStop(string, wire.Stop) error { return nil }

func (h *harness) SendSave(string, wire.Save) error { return nil }

// Drain passes on what a job has sent that was not read yet.
func (h *harness) Drain(_ context.Context, slot string) {
	h.mu.Lock()
	unread := h.unread[slot]
	delete(h.unread, slot)
	h.mu.Unlock()
	for _, m := range unread {
		h.loop.Socket(slot, socket.Received{Message: m})
	}
}

func (h *harness) SendDuty(slot string, d wire.Duty) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.duties[slot] = d
	return nil
}

// Usage is the usage of a job that keeps one core busy.
func (h *harness) Usage(pod growth.PodUID, now time.Time) (cgroup.Usage, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	weight := h.pods[pod].Request()
	if direct, ok := h.direct[pod]; ok {
		weight = direct
	}
	used := now.Sub(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))
	return cgroup.Usage{
		CPU:      growth.Seconds(used.Seconds()),
		CPUKnown: true,
		Weight:   int64(weight),
		Memory:   7,

		SharedMemory:      21,
		SharedMemoryKnown: true,
	}, nil
}

// CPUs returns the CPUs to which a container is bound.
// lingers lets a pod have processes, also after its end.
func (h *harness) lingers(pod growth.PodUID, runs bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lingering = map[growth.PodUID]bool{pod: runs}
}

func (h *harness) Populated(pod growth.PodUID, _ time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lingering[pod]
}

func (h *harness) CPUs(_ growth.PodUID, container string) (int, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	cpus, bound := h.bound[container]
	return cpus, bound
}

func (h *harness) Node() cgroup.Stalled { return cgroup.Stalled{} }

func (h *harness) Follow(ctx context.Context, pod growth.PodRef, _ string, _ bool, _ *lines.Reader, sink lines.Sink) {
	h.mu.Lock()
	h.sinks[pod.UID] = sink
	h.mu.Unlock()
	<-ctx.Done()
}

// followed is a file that the loop follows.
type followed struct {
	jobfile.Source
	sink lines.Sink
}

type files struct{ *harness }

func (h files) Follow(ctx context.Context, from jobfile.Source, _ *lines.Reader, sink lines.Sink) {
	h.mu.Lock()
	h.files[from.Pod.UID] = followed{from, sink}
	h.mu.Unlock()
	<-ctx.Done()
}

func (h *harness) Enforce(resizes []node.Resize) {
	h.mu.Lock()
	resizeErr := h.resizeErr
	h.resizes = append(h.resizes, resizes...)
	h.mu.Unlock()
	go func() {
		for _, t := range resizes {
			if resizeErr != nil {
				h.loop.Resized(enforce.Result{Resize: t, Err: resizeErr})
				continue
			}
			pod, ok := h.pod(t.Pod.UID)
			if !ok {
				continue
			}
			if h.direct != nil {
				h.mu.Lock()
				h.direct[t.Pod.UID] = t.To
				h.mu.Unlock()
				h.loop.Resized(enforce.Result{Resize: t, Weight: int64(t.To), Verified: true})
				continue
			}
			pod.Containers = []node.Container{{Name: "train", Request: t.Requests["train"], ID: pod.Trainer().ID}}
			if t.Original != "" {
				pod.Annotations[gpushare.RequestAnnotation] = t.Original
			}
			h.apply(pod)
			h.loop.Resized(enforce.Result{Resize: t, Weight: int64(t.To), Verified: true})
		}
	}()
}

func (h *harness) pod(uid growth.PodUID) (node.Pod, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	pod, ok := h.pods[uid]
	pod.Annotations = maps.Clone(pod.Annotations)
	return pod, ok
}

func (h *harness) Sample(s bus.Sample, urgent bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if urgent {
		h.urgent = append(h.urgent, s.Pod.Name)
	}
	s.Node = "node"
	h.samples[s.Pod.UID] = s
}

func (h *harness) Load(l bus.NodeLoad) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.load = l
}

func (h *harness) Speeds(bus.Speeds) {}

func (h *harness) Gang(node.GangReport) {}

func (h *harness) Runs(p node.LearnedProgram) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.learned = append(h.learned, p)
}

func (h *harness) Save(m node.Memory) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.memory = m
}

func (h *harness) Forget(pod growth.PodUID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forgotten = append(h.forgotten, pod)
	delete(h.samples, pod)
}

func (h *harness) Event(pod growth.PodRef, _ bool, reason, message string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, fmt.Sprintf("%s %s: %s", pod.Name, reason, message))
}

func (h *harness) Annotate(pod growth.PodRef, name, value string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.annotations[pod.Name] == nil {
		h.annotations[pod.Name] = map[string]string{}
	}
	h.annotations[pod.Name][name] = value
}
