package loop_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/coordinator/internal/enforce"
	"github.com/trellis-gpu/trellis/coordinator/internal/loop"
	"github.com/trellis-gpu/trellis/coordinator/internal/metrics"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/cgroup"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/jobfile"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/lines"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/socket"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/bus/membus"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
	"github.com/trellis-gpu/trellis/growth/wire"
)

const interval = 10 * time.Second

// world is everything around the loop, in memory. Its kubelet makes every resize at once.
type world struct {
	t    *testing.T
	loop *loop.Loop
	bus  *membus.Bus

	mu      sync.Mutex
	pods    map[growth.PodUID]node.Pod
	samples map[growth.PodUID]bus.Sample
	hurried []string // whose samples waited for nothing
	load    bus.NodeLoad
	events  []string
	noted   map[string]map[string]string // annotations, by pod
	targets []node.Resize
	sent    map[string]wire.Config
	duties  map[string]wire.Duty
	open    map[string]bool
	forgot  []growth.PodUID
	refuse  error
	sinks   map[growth.PodUID]lines.Sink
	files   map[growth.PodUID]followed
	memory  node.Memory
	config  node.Config
	direct  map[growth.PodUID]growth.MilliCPU // weights, where they are written directly
	// worker makes resizes in the world's stead; nil: the world does. kill ends the coordinator's life where it stands.
	worker func(results func(enforce.Result)) *enforce.Worker
	kill   context.CancelFunc
}

func newWorld(t *testing.T) *world {
	return &world{
		t: t, bus: membus.New(), pods: map[growth.PodUID]node.Pod{}, samples: map[growth.PodUID]bus.Sample{}, noted: map[string]map[string]string{},
		sent: map[string]wire.Config{}, duties: map[string]wire.Duty{}, open: map[string]bool{}, sinks: map[growth.PodUID]lines.Sink{}, files: map[growth.PodUID]followed{},
	}
}

// start begins a coordinator's life; the function it returns ends it.
func (w *world) start(name policy.Name) (stop func()) {
	config := w.config
	config.Damping = node.KubeletDamping(interval)
	config.Policy, config.Alpha, config.Beta, config.Interval, config.Objective = name, 0.05, 2, interval, fairfinish.Balanced
	m := metrics.New(prometheus.NewRegistry(), func() time.Duration { return 0 })
	l := loop.New(config, m, slog.New(slog.DiscardHandler))
	w.loop = l
	l.Restore(w.memory)
	ctx, cancel := context.WithCancel(w.t.Context())
	var wg sync.WaitGroup
	session := w.bus.Session()
	var enforcer loop.Enforcer = w
	if w.worker != nil {
		worker := w.worker(l.Resized)
		enforcer = worker
		wg.Go(func() { _ = worker.Run(ctx) })
	}
	wg.Go(func() {
		_ = l.Run(ctx, loop.Ports{Sockets: w, Usages: w, Logs: w, Files: files{w}, Enforcer: enforcer, Records: w, Pods: w, Memory: w})
	})
	wg.Go(func() { l.FollowAllocations(ctx, session, "node") })
	wg.Go(func() { l.FollowJobs(ctx, session, "node") })
	w.kill = cancel
	stop = func() { cancel(); wg.Wait() }
	w.t.Cleanup(stop)
	l.Capacity(2 * growth.Core)
	return stop
}

// The ports.

func (w *world) Open(_ context.Context, slot string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[slot] = true
	return nil
}

func (w *world) Close(slot string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.open, slot)
	delete(w.sent, slot)
	delete(w.duties, slot)
}

func (w *world) Send(slot string, c wire.Config) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent[slot] = c
	return nil
}

func (w *world) SendDuty(slot string, d wire.Duty) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.duties[slot] = d
	return nil
}

// Usage is that of jobs which keep one core busy.
func (w *world) Usage(pod growth.PodUID, now time.Time) (cgroup.Usage, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	weight := w.pods[pod].Request()
	if direct, ok := w.direct[pod]; ok {
		weight = direct
	}
	return cgroup.Usage{CPU: growth.Seconds(now.Sub(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).Seconds()), CPUKnown: true, Weight: int64(weight), Memory: 7}, nil
}

func (w *world) Node() cgroup.Stalled { return cgroup.Stalled{} }

func (w *world) Follow(ctx context.Context, pod growth.PodRef, _ string, _ bool, _ *lines.Reader, sink lines.Sink) {
	w.mu.Lock()
	w.sinks[pod.UID] = sink
	w.mu.Unlock()
	<-ctx.Done()
}

// followed is a file that is read.
type followed struct {
	jobfile.Source
	sink    lines.Sink
	failing func(error)
}

type files struct{ *world }

func (w files) Follow(ctx context.Context, from jobfile.Source, _ *lines.Reader, sink lines.Sink, failing func(error)) {
	w.mu.Lock()
	w.files[from.Pod.UID] = followed{from, sink, failing}
	w.mu.Unlock()
	<-ctx.Done()
}

func (w *world) Enforce(targets []node.Resize) {
	w.mu.Lock()
	refuse := w.refuse
	w.targets = append(w.targets, targets...)
	w.mu.Unlock()
	go func() {
		for _, t := range targets {
			if refuse != nil {
				w.loop.Resized(enforce.Result{Resize: t, Err: refuse})
				continue
			}
			pod, ok := w.pod(t.Pod.UID)
			if !ok {
				continue
			}
			if w.direct != nil {
				w.mu.Lock()
				w.direct[t.Pod.UID] = t.To
				w.mu.Unlock()
				w.loop.Resized(enforce.Result{Resize: t, Weight: int64(t.To), Verified: true})
				continue
			}
			pod.Containers = []node.Container{{Name: "train", Request: t.Requests["train"]}}
			if t.Original != "" {
				pod.Annotations[gpushare.RequestAnnotation] = t.Original
			}
			w.apply(pod)
			w.loop.Resized(enforce.Result{Resize: t, Weight: int64(t.To), Verified: true})
		}
	}()
}

func (w *world) pod(uid growth.PodUID) (node.Pod, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	pod, ok := w.pods[uid]
	pod.Annotations = maps.Clone(pod.Annotations)
	return pod, ok
}

func (w *world) Sample(s bus.Sample, urgent bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if urgent {
		w.hurried = append(w.hurried, s.Pod.Name)
	}
	s.Node = "node"
	w.samples[s.Pod.UID] = s
}

func (w *world) Load(l bus.NodeLoad) { w.mu.Lock(); defer w.mu.Unlock(); w.load = l }

func (w *world) Save(m node.Memory) { w.mu.Lock(); defer w.mu.Unlock(); w.memory = m }

func (w *world) Forget(pod growth.PodUID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forgot = append(w.forgot, pod)
	delete(w.samples, pod)
}

func (w *world) Event(pod growth.PodRef, _ bool, reason, message string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, fmt.Sprintf("%s %s: %s", pod.Name, reason, message))
}

func (w *world) Annotate(pod growth.PodRef, name, value string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.noted[pod.Name] == nil {
		w.noted[pod.Name] = map[string]string{}
	}
	w.noted[pod.Name][name] = value
}

// What the tests do and see.

func ref(name string) growth.PodRef {
	return growth.PodRef{Namespace: "ns", Name: name, UID: growth.PodUID("uid-" + name)}
}

func (w *world) apply(pod node.Pod) {
	w.mu.Lock()
	w.pods[pod.Ref.UID] = pod
	w.mu.Unlock()
	w.loop.PodUpdated(pod)
}

// arrive starts a pod with a request of 500m, and annotations of "name=value".
func (w *world) arrive(name string, annotations ...string) {
	pod := node.Pod{
		Ref: ref(name), Running: true, Annotations: map[string]string{gpushare.MemoryAnnotation: "1"},
		Containers: []node.Container{{Name: "train", Request: 500}},
	}
	for _, a := range annotations {
		key, value, _ := strings.Cut(a, "=")
		pod.Annotations[key] = value
	}
	w.apply(pod)
	w.allocate(name)
}

// allocate is kubelet giving a pod its GPU.
func (w *world) allocate(name string) { w.allocateOn(name, "GPU-1") }

func (w *world) allocateOn(name string, gpu growth.GPU) {
	pod := ref(name)
	w.put(bus.AllocationKey("node", pod.UID), encode(w.t, bus.Allocation{Pod: pod, Containers: []bus.ContainerAllocation{{
		Name: "train", Slot: "slot-" + name, GPUs: []growth.GPUShare{{GPU: gpu, Memory: 1024}},
	}}}))
}

func (w *world) remove(name string) {
	w.mu.Lock()
	delete(w.pods, ref(name).UID)
	w.mu.Unlock()
	w.loop.PodDeleted(ref(name).UID)
}

func (w *world) put(key string, value []byte) {
	_, err := w.bus.Session().Put(w.t.Context(), key, value, bus.Persistent)
	require.NoError(w.t, err)
}

func encode[T any, R bus.Record[T]](t *testing.T, record T) []byte {
	value, err := bus.Encode[T, R](record)
	require.NoError(t, err)
	return value
}

func (w *world) report(name string, step int64, loss float64) {
	w.say(name, wire.Progress{Step: step, Steps: 1, Samples: 64, StepSeconds: 0.5, LoadSeconds: 0.125, Metrics: map[string]float64{"loss": loss}})
}

func (w *world) say(name string, m wire.Message) {
	w.loop.Socket("slot-"+name, socket.Received{Message: m})
}

// train lets n intervals pass in which each job reports its loss once.
func (w *world) train(from, n int, losses map[string]func(int) float64) {
	for i := from; i < from+n; i++ {
		for name, loss := range losses {
			w.report(name, int64(i+1), loss(i))
		}
		w.pass(interval)
	}
}

func (w *world) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (w *world) sample(name string) bus.Sample {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.samples[ref(name).UID]
}

func (w *world) requests() map[string]growth.MilliCPU {
	w.mu.Lock()
	defer w.mu.Unlock()
	requests := map[string]growth.MilliCPU{}
	for _, p := range w.pods {
		requests[p.Ref.Name] = p.Request()
	}
	return requests
}

func (w *world) told(what string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, e := range w.events {
		if strings.Contains(e, what) {
			n++
		}
	}
	return n
}

var (
	falling = func(i int) float64 { return 100 - float64(i) }
	flat    = func(int) float64 { return 1 }
)

func in(t *testing.T, name policy.Name, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start(name)
		test(t, w)
	})
}
