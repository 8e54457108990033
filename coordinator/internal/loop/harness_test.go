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

// harness runs a loop with fakes of all its ports. Its kubelet applies each resize at once.
type harness struct {
	t    *testing.T
	loop *loop.Loop
	bus  *membus.Bus

	mu          sync.Mutex
	pods        map[growth.PodUID]node.Pod
	samples     map[growth.PodUID]bus.Sample
	urgent      []string // pods of urgent samples
	load        bus.NodeLoad
	events      []string
	annotations map[string]map[string]string // by pod and name
	resizes     []node.Resize
	sent        map[string]wire.Config
	duties      map[string]wire.Duty
	open        map[string]bool
	forgotten   []growth.PodUID
	resizeErr   error
	sinks       map[growth.PodUID]lines.Sink
	files       map[growth.PodUID]followed
	memory      node.Memory
	config      node.Config
	bound       map[string]int                    // CPUs by container that is bound to some
	direct      map[growth.PodUID]growth.MilliCPU // weights by pod, if they are written directly
	// logs reads the logs of pods; nil: the harness keeps the sinks.
	logs loop.Logs
	// worker creates the worker that executes resizes; nil: the harness executes them.
	worker func(results func(enforce.Result)) *enforce.Worker
	// kill ends the coordinator without waiting for it.
	kill context.CancelFunc
}

func newHarness(t *testing.T) *harness {
	return &harness{
		t:           t,
		bus:         membus.New(),
		pods:        map[growth.PodUID]node.Pod{},
		samples:     map[growth.PodUID]bus.Sample{},
		annotations: map[string]map[string]string{},
		sent:        map[string]wire.Config{},
		duties:      map[string]wire.Duty{},
		open:        map[string]bool{},
		sinks:       map[growth.PodUID]lines.Sink{},
		files:       map[growth.PodUID]followed{},
	}
}

// start starts a coordinator. The returned function stops it and waits.
func (h *harness) start(name policy.Name) (stop func()) {
	config := h.config
	config.Damping = node.KubeletDamping(interval)
	config.Policy = name
	config.Alpha = 0.05
	config.Beta = 2
	config.Interval = interval
	config.Objective = fairfinish.Balanced
	m := metrics.New(prometheus.NewRegistry(), func() time.Duration { return 0 })
	l := loop.New(config, m, slog.New(slog.DiscardHandler))
	h.loop = l
	l.Restore(h.memory)
	ctx, cancel := context.WithCancel(h.t.Context())
	var wg sync.WaitGroup
	session := h.bus.Session()
	var enforcer loop.Enforcer = h
	var logs loop.Logs = h
	if h.logs != nil {
		logs = h.logs
	}
	if h.worker != nil {
		worker := h.worker(l.Resized)
		enforcer = worker
		wg.Go(func() { _ = worker.Run(ctx) })
	}
	wg.Go(func() {
		_ = l.Run(ctx, loop.Ports{
			Sockets:  h,
			Usages:   h,
			Logs:     logs,
			Files:    files{h},
			Enforcer: enforcer,
			Records:  h,
			Pods:     h,
			Memory:   h,
		})
	})
	wg.Go(func() { l.FollowAllocations(ctx, session, "node") })
	wg.Go(func() { l.FollowJobs(ctx, session, "node") })
	h.kill = cancel
	stop = func() {
		cancel()
		wg.Wait()
	}
	h.t.Cleanup(stop)
	l.Capacity(2 * growth.Core)
	return stop
}

// The ports of the loop.

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
			pod.Containers = []node.Container{{Name: "train", Request: t.Requests["train"]}}
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

// The actions and queries of the tests.

func ref(name string) growth.PodRef {
	return growth.PodRef{Namespace: "ns", Name: name, UID: growth.PodUID("uid-" + name)}
}

func (h *harness) apply(pod node.Pod) {
	h.mu.Lock()
	h.pods[pod.Ref.UID] = pod
	h.mu.Unlock()
	h.loop.PodUpdated(pod)
}

// arrive starts a pod with a request of 500m, and annotations of "name=value".
func (h *harness) arrive(name string, annotations ...string) {
	pod := node.Pod{
		Ref:          ref(name),
		SharedMemory: 64,
		Running:      true,
		Annotations:  map[string]string{gpushare.MemoryAnnotation: "1"},
		Containers:   []node.Container{{Name: "train", Request: 500}},
	}
	for _, a := range annotations {
		key, value, _ := strings.Cut(a, "=")
		pod.Annotations[key] = value
	}
	h.apply(pod)
	h.allocate(name)
}

// allocate records that kubelet has allocated GPU-1 to a pod.
func (h *harness) allocate(name string) { h.allocateOn(name, "GPU-1") }

func (h *harness) allocateOn(name string, gpu growth.GPU) {
	pod := ref(name)
	h.put(bus.AllocationKey("node", pod.UID), encode(h.t, bus.Allocation{Pod: pod, Containers: []bus.ContainerAllocation{{
		Name: "train", Slot: "slot-" + name, GPUs: []growth.GPUShare{{GPU: gpu, Memory: 1024}},
	}}}))
}

func (h *harness) remove(name string) {
	h.mu.Lock()
	delete(h.pods, ref(name).UID)
	h.mu.Unlock()
	h.loop.PodDeleted(ref(name).UID)
}

func (h *harness) put(key string, value []byte) {
	_, err := h.bus.Session().Put(h.t.Context(), key, value, bus.Persistent)
	require.NoError(h.t, err)
}

func encode[T any, R bus.Record[T]](t *testing.T, record T) []byte {
	value, err := bus.Encode[T, R](record)
	require.NoError(t, err)
	return value
}

func (h *harness) report(name string, step int64, loss float64) {
	h.message(name, wire.Progress{
		Step:        step,
		Steps:       1,
		Samples:     64,
		StepSeconds: 0.5,
		LoadSeconds: 0.125,
		Metrics:     map[string]float64{"loss": loss},
	})
}

func (h *harness) message(name string, m wire.Message) {
	h.loop.Socket("slot-"+name, socket.Received{Message: m})
}

// train advances the clock by n intervals, in each of which each job reports its loss once.
func (h *harness) train(from, n int, losses map[string]func(int) float64) {
	for i := from; i < from+n; i++ {
		for name, loss := range losses {
			h.report(name, int64(i+1), loss(i))
		}
		h.advance(interval)
	}
}

func (h *harness) advance(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (h *harness) sample(name string) bus.Sample {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.samples[ref(name).UID]
}

func (h *harness) requests() map[string]growth.MilliCPU {
	h.mu.Lock()
	defer h.mu.Unlock()
	requests := map[string]growth.MilliCPU{}
	for _, p := range h.pods {
		requests[p.Ref.Name] = p.Request()
	}
	return requests
}

// countEvents counts the events that contain a text.
func (h *harness) countEvents(what string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, e := range h.events {
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

// withHarness runs a test with a harness in a synctest bubble.
func withHarness(t *testing.T, name policy.Name, test func(t *testing.T, h *harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		h.start(name)
		test(t, h)
	})
}
