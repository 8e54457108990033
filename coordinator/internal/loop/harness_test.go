package loop_test

import (
	"context"
	"log/slog"
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
	learned     []node.LearnedProgram
	open        map[string]bool
	unread      map[string][]wire.Message // by slot; read when it is drained
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
	// lingering are pods that have processes.
	lingering map[growth.PodUID]bool
	// checkpoints and freezer are nil unless a test sets them.
	checkpoints loop.Checkpoints
	freezer     loop.Freezer
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
		unread:      map[string][]wire.Message{},
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
			Models:   session,

			Checkpoints: h.checkpoints,
			Freezer:     h.freezer,
		})
	})
	wg.Go(func() { l.FollowAllocations(ctx, session, "node") })
	wg.Go(func() { l.FollowInventory(ctx, session, "node") })
	wg.Go(func() { l.FollowJobs(ctx, session, "node") })
	wg.Go(func() { l.FollowModel(ctx, session) })
	h.kill = cancel
	stop = func() {
		cancel()
		wg.Wait()
	}
	h.t.Cleanup(stop)
	l.Capacity(2 * growth.Core)
	return stop
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

func (h *harness) withdraw(key string) {
	require.NoError(h.t, h.bus.Session().Delete(h.t.Context(), key))
}

func encode[T any, R bus.Record[T]](t *testing.T, record T) []byte {
	value, err := bus.Encode[T, R](record)
	require.NoError(t, err)
	return value
}

func (h *harness) report(name string, step int64, loss float64) {
	h.reports(name, wire.Progress{
		Step:        step,
		Steps:       1,
		Samples:     64,
		StepSeconds: 0.5,
		LoadSeconds: 0.125,
		Metrics:     wire.Metrics{{Name: "loss", Value: loss}},
	})
}

func (h *harness) reports(name string, reports ...wire.Progress) {
	h.loop.Socket("slot-"+name, socket.Reported{Reports: reports})
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
