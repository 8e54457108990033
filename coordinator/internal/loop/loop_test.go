package loop_test

import (
	"context"
	"errors"
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
	"github.com/trellis-gpu/trellis/coordinator/internal/pods"
	"github.com/trellis-gpu/trellis/coordinator/internal/recall"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/bus/membus"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/flowcon"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/wire"
)

const interval = 10 * time.Second

// world is everything around the loop, in memory. Its kubelet makes every resize at once.
type world struct {
	t    *testing.T
	loop *loop.Loop
	bus  *membus.Bus

	mu       sync.Mutex
	pods     map[growth.PodUID]pods.Pod
	samples  map[growth.PodUID]bus.Sample
	load     bus.NodeLoad
	events   []string
	category map[string]growth.Category
	targets  []enforce.Target
	sent     map[string]wire.Config
	open     map[string]bool
	forgot   []growth.PodUID
	refuse   error
	sinks    map[growth.PodUID]lines.Sink
	files    map[growth.PodUID]followed
	memory   recall.Memory
	machine  *machine
	config   loop.Config
	direct   map[growth.PodUID]growth.MilliCPU // weights, where they are written directly
}

func newWorld(t *testing.T) *world {
	return &world{
		t: t, bus: membus.New(), pods: map[growth.PodUID]pods.Pod{}, samples: map[growth.PodUID]bus.Sample{}, category: map[string]growth.Category{},
		sent: map[string]wire.Config{}, open: map[string]bool{}, sinks: map[growth.PodUID]lines.Sink{}, files: map[growth.PodUID]followed{},
	}
}

// start begins a coordinator's life; the function it returns ends it.
func (w *world) start(policy flowcon.Policy) (stop func()) {
	config := w.config
	config.FlowCon, config.Objective = flowcon.Config{Policy: policy, Alpha: 0.05, Beta: 2, Interval: interval}, fairfinish.Balanced
	m := metrics.New(prometheus.NewRegistry(), func() time.Duration { return 0 })
	l := loop.New(config, m, slog.New(slog.DiscardHandler))
	w.loop = l
	ctx, cancel := context.WithCancel(w.t.Context())
	var wg sync.WaitGroup
	session := w.bus.Session()
	wg.Go(func() {
		_ = l.Run(ctx, loop.Ports{Sockets: w, Usages: w, Logs: w, Files: files{w}, Enforcer: w, Records: w, Diary: w, Memory: w})
	})
	wg.Go(func() { l.FollowAllocations(ctx, session, "node") })
	wg.Go(func() { l.FollowJobs(ctx, session, "node") })
	stop = func() { cancel(); wg.Wait() }
	w.t.Cleanup(stop)
	l.Recall(w.memory)
	l.Allocatable(2 * growth.Core)
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
}

func (w *world) Send(slot string, c wire.Config) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent[slot] = c
	return nil
}

// Usage is that of jobs which keep one core busy.
func (w *world) Usage(pod growth.PodUID, now time.Time) (cgroup.Usage, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.machine != nil {
		return cgroup.Usage{CPU: w.machine.used[pod], CPUKnown: true, Weight: int64(w.pods[pod].Request()), Version: 1}, nil
	}
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

func (w *world) Enforce(targets []enforce.Target) {
	w.mu.Lock()
	refuse := w.refuse
	w.targets = append(w.targets, targets...)
	w.mu.Unlock()
	go func() {
		for _, t := range targets {
			if refuse != nil {
				w.loop.Resized(enforce.Result{Target: t, Err: refuse})
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
				w.loop.Resized(enforce.Result{Target: t, Weight: int64(t.To), Verified: true})
				continue
			}
			pod.Containers = []pods.Container{{Name: "train", Request: t.Requests["train"]}}
			if t.Keep != "" {
				pod.Annotations[gpushare.RequestAnnotation] = t.Keep
			}
			w.apply(pod)
			w.loop.Resized(enforce.Result{Target: t, Weight: int64(t.To), Verified: true})
		}
	}()
}

func (w *world) pod(uid growth.PodUID) (pods.Pod, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	pod, ok := w.pods[uid]
	pod.Annotations = maps.Clone(pod.Annotations)
	return pod, ok
}

func (w *world) Sample(s bus.Sample) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s.Node = "node"
	w.samples[s.Pod.UID] = s
}

func (w *world) Load(l bus.NodeLoad) { w.mu.Lock(); defer w.mu.Unlock(); w.load = l }

func (w *world) Keep(m recall.Memory) { w.mu.Lock(); defer w.mu.Unlock(); w.memory = m }

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

func (w *world) Category(pod growth.PodRef, c growth.Category) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.category[pod.Name] = c
}

// What the tests do and see.

func ref(name string) growth.PodRef {
	return growth.PodRef{Namespace: "ns", Name: name, UID: growth.PodUID("uid-" + name)}
}

func (w *world) apply(pod pods.Pod) {
	w.mu.Lock()
	w.pods[pod.Ref.UID] = pod
	w.mu.Unlock()
	w.loop.PodChanged(pod)
}

// arrive starts a pod with a request of 500m, and annotations of "name=value".
func (w *world) arrive(name string, annotations ...string) {
	pod := pods.Pod{
		Ref: ref(name), Running: true, Annotations: map[string]string{gpushare.MemoryAnnotation: "1"},
		Containers: []pods.Container{{Name: "train", Request: 500}},
	}
	for _, a := range annotations {
		key, value, _ := strings.Cut(a, "=")
		pod.Annotations[key] = value
	}
	w.apply(pod)
	w.put(bus.AllocationKey("node", pod.Ref.UID), encode(w.t, bus.Allocation{Pod: pod.Ref, Containers: []bus.ContainerAllocation{{
		Name: "train", Slot: "slot-" + name, GPUs: []growth.GPUShare{{GPU: "GPU-1", Memory: 1024}},
	}}}))
}

func (w *world) remove(name string) {
	w.mu.Lock()
	delete(w.pods, ref(name).UID)
	w.mu.Unlock()
	w.loop.PodGone(ref(name).UID)
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

func in(t *testing.T, policy flowcon.Policy, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start(policy)
		test(t, w)
	})
}

func TestAConvergedJobGivesToOneThatGrows(t *testing.T) {
	in(t, flowcon.Corrected, func(t *testing.T, w *world) {
		w.arrive("young")
		w.arrive("old")
		w.pass(time.Second)
		require.Equal(t, map[string]growth.MilliCPU{"young": 500, "old": 500}, w.requests(), "nothing is known yet: no change")

		w.train(0, 7, map[string]func(int) float64{"young": falling, "old": flat})
		require.Equal(t, map[string]growth.MilliCPU{"young": 750, "old": 250}, w.requests(), "the floor of two is a quarter")
		old := w.sample("old")
		require.Equal(t, growth.Converged, old.Category)
		require.Equal(t, growth.Progressing, w.sample("young").Category)
		require.Equal(t, growth.MilliCPU(250), old.CPURequest)
		require.Equal(t, growth.Share(0.25), old.Share)
		require.Equal(t, int64(250), old.Weight)
		require.Equal(t, growth.Core, old.CPUUsed)
		require.Equal(t, []growth.GPU{"GPU-1"}, old.GPUs)
		require.Equal(t, growth.PerSecond(6.4), old.SamplesPerSecond)
		require.Equal(t, growth.Seconds(0.5), old.StepSeconds)
		require.Equal(t, growth.Seconds(0.125), old.LoadSeconds)
		require.Equal(t, growth.Converged, w.category["old"])
		require.Equal(t, bus.NodeLoad{CPUPool: 1000, CPUUsed: 2000, LoaderBudget: 2, Policy: "flowcon"}, w.load)
		require.Equal(t, "train=500m", w.pods[ref("old").UID].Annotations[gpushare.RequestAnnotation])
		require.Equal(t, 1, w.told("old CategoryChanged: Progressing → Watching"))
		require.Equal(t, 1, w.told("old CategoryChanged: Watching → Converged"))
		require.Equal(t, 1, w.told("old CPUShareChanged: CPU request 500m → 250m, 25% of the node's pool: its cgroup's weight is 250"))
	})
}

func TestArrivalAndDepartureWaitForNoInterval(t *testing.T) {
	in(t, flowcon.Corrected, func(t *testing.T, w *world) {
		w.arrive("young")
		w.arrive("old")
		w.train(0, 7, map[string]func(int) float64{"young": falling, "old": flat})
		w.arrive("new")
		w.pass(time.Second)
		got := w.requests()
		require.Greater(t, got["new"], got["old"])
		require.LessOrEqual(t, got["new"]+got["old"]+got["young"], growth.MilliCPU(1500))

		w.remove("young")
		w.remove("new")
		w.pass(time.Second)
		require.Equal(t, growth.MilliCPU(500), w.requests()["old"], "alone it has what it was made with")
		require.ElementsMatch(t, []growth.PodUID{"uid-young", "uid-new"}, w.forgot)
		require.Equal(t, map[string]bool{"slot-old": true}, w.open)
	})
}

func TestOneInOneOutIsNoticed(t *testing.T) {
	in(t, flowcon.Corrected, func(t *testing.T, w *world) {
		w.arrive("a")
		w.arrive("b")
		w.train(0, 7, map[string]func(int) float64{"a": falling, "b": flat})
		w.remove("b")
		w.arrive("c")
		w.pass(time.Second)
		require.Equal(t, map[string]growth.MilliCPU{"a": 500, "c": 500}, w.requests())
	})
}

func TestFairLeavesEqualJobsAlone(t *testing.T) {
	in(t, flowcon.Fair, func(t *testing.T, w *world) {
		w.arrive("young")
		w.arrive("old")
		w.train(0, 9, map[string]func(int) float64{"young": falling, "old": flat})
		require.Empty(t, w.targets)
		require.Equal(t, growth.Converged, w.sample("old").Category, "classified all the same")
	})
}

func TestLiteralKeepsItsOwnLists(t *testing.T) {
	in(t, flowcon.Literal, func(t *testing.T, w *world) {
		w.arrive("young")
		w.arrive("old")
		w.train(0, 5, map[string]func(int) float64{"young": falling, "old": flat})
		require.Equal(t, growth.Converged, w.sample("old").Category)
		require.Equal(t, growth.Progressing, w.sample("young").Category)
		require.Less(t, w.requests()["old"], w.requests()["young"])
	})
}

func TestWhoeverMayNotBeTunedIsLeftAlone(t *testing.T) {
	in(t, flowcon.Corrected, func(t *testing.T, w *world) {
		w.arrive("young")
		w.arrive("old")
		w.arrive("private", gpushare.TuneAnnotation+"=loaders")
		fixed := pods.Pod{Ref: ref("fixed"), Running: true, Fixed: "its QoS class is Guaranteed", Annotations: map[string]string{gpushare.MemoryAnnotation: "1"},
			Containers: []pods.Container{{Name: "train", Request: 500}}}
		w.apply(fixed)
		w.apply(fixed)
		w.train(0, 7, map[string]func(int) float64{"young": falling, "old": flat, "private": flat})
		require.Equal(t, map[string]growth.MilliCPU{"young": 750, "old": 250, "private": 500, "fixed": 500}, w.requests())
		require.Equal(t, growth.Converged, w.sample("private").Category, "but observed")
		require.Equal(t, []string{"loaders"}, w.sample("private").Tunable)
		require.Equal(t, 1, w.told("fixed CPUNotTuned"))
	})
}

func TestNonsenseOnAPodIsTold(t *testing.T) {
	in(t, flowcon.Corrected, func(t *testing.T, w *world) {
		w.arrive("bad", gpushare.ProgressAnnotation+"=log:[")
		w.arrive("bad", gpushare.ProgressAnnotation+"=log:[")
		w.arrive("good")
		w.pass(interval)
		require.Equal(t, 1, w.told("bad BadAnnotation: annotation gpushare/progress"))
		require.Zero(t, w.sample("bad"))
		require.NotZero(t, w.sample("good"))
	})
}

func TestAdviceIsDeliveredAndAcknowledged(t *testing.T) {
	in(t, flowcon.Corrected, func(t *testing.T, w *world) {
		w.arrive("a")
		w.pass(time.Second)
		two, four := 2, 4
		w.say("a", wire.Progress{Step: 1, Loaders: &two})
		w.put(bus.AdviceKey(ref("a").UID), encode(t, bus.Advice{Generation: 7, Loaders: &four, BatchSize: &four, Reason: "more cores"}))
		w.pass(time.Second)
		require.Equal(t, wire.Config{Generation: 7, Values: wire.Values{Loaders: &four}}, w.sent["slot-a"], "batch size is not for us to change")

		w.loop.Socket("slot-a", socket.Delivered{Generation: 7})
		w.say("a", wire.Ack{Generation: 8, Applied: wire.Values{Loaders: &two}})
		w.pass(time.Second)
		require.Zero(t, w.sample("a").Applied, "what was never sent can not be acknowledged")

		w.say("a", wire.Ack{Generation: 7, Applied: wire.Values{Loaders: &four}})
		w.pass(time.Second)
		got := w.sample("a")
		require.Equal(t, []int64{7, 7, 4}, []int64{got.Generation, got.Applied, int64(*got.Loaders)})
		require.Equal(t, 1, w.told("a LoadersChanged: Data-loader workers: 2 → 4, acknowledged by the job (more cores)"))
	})
}

func TestGPUTimeFollowsTheShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.config.GPUTime = true
		w.start(flowcon.Corrected)
		w.arrive("young")
		w.arrive("old")
		w.arrive("private", gpushare.TuneAnnotation+"=none")
		w.pass(time.Second)
		require.Empty(t, w.sent, "equal shares are not gated")
		w.train(0, 12, map[string]func(int) float64{"young": falling, "old": flat})
		require.InDelta(t, 1./3, float64(*w.sent["slot-old"].Duty), .05, "a quarter of the node beside three")
		require.NotContains(t, w.sent, "slot-young", "the GPU is never idle for a gate")
		require.NotContains(t, w.sent, "slot-private")
		require.Equal(t, *w.sent["slot-old"].Duty, *w.sample("old").Duty)

		four := 4
		gated := w.sent["slot-old"]
		w.put(bus.AdviceKey(ref("old").UID), encode(t, bus.Advice{Generation: 7, Loaders: &four}))
		w.pass(time.Second)
		both := w.sent["slot-old"]
		require.Greater(t, both.Generation, gated.Generation, "else the job would not take it")
		require.Equal(t, *gated.Duty, *both.Duty)
		w.loop.Socket("slot-old", socket.Delivered{Generation: both.Generation})
		w.say("old", wire.Ack{Generation: both.Generation, Applied: wire.Values{Loaders: &four}})
		w.pass(time.Second)
		require.Equal(t, []int64{7, 7}, []int64{w.sample("old").Generation, w.sample("old").Applied}, "the tuner sees its own count")

		w.remove("young")
		w.pass(time.Second)
		require.Equal(t, growth.Share(1), *w.sent["slot-old"].Duty, "alone, it is let go")
	})
}

func TestAGateIsNotLeftClosedByARestart(t *testing.T) {
	for name, divided := range map[string]bool{"GPU time is divided": true, "and not any more": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				half := growth.Share(.5)
				w.put(bus.SampleKey(ref("a").UID), encode(t, bus.Sample{Pod: ref("a"), Node: "node", Metric: "loss", Category: growth.Watching, Share: 1, Duty: &half}))
				w.config.GPUTime = divided
				w.start(flowcon.Corrected)
				w.arrive("a")
				w.pass(2 * interval)
				require.Equal(t, growth.Share(1), *w.sent["slot-a"].Duty)
				require.NotZero(t, w.sent["slot-a"].Generation)
			})
		})
	}
}

func TestWeightsWrittenDirectlyLeaveRequestsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.config.Direct, w.direct = true, map[growth.PodUID]growth.MilliCPU{}
		w.start(flowcon.Corrected)
		w.arrive("young")
		w.arrive("old")
		w.train(0, 9, map[string]func(int) float64{"young": falling, "old": flat})
		require.Equal(t, map[growth.PodUID]growth.MilliCPU{"uid-young": 750, "uid-old": 250}, w.direct)
		require.Equal(t, map[string]growth.MilliCPU{"young": 500, "old": 500}, w.requests())
		require.Equal(t, 1, w.told("old CPUShareChanged"))
		_, kept := w.pods[ref("old").UID].Annotations[gpushare.RequestAnnotation]
		require.False(t, kept, "there is nothing to keep")

		w.mu.Lock()
		w.direct["uid-old"] = 9 // somebody else's hand
		w.mu.Unlock()
		w.train(9, 2, map[string]func(int) float64{"young": falling, "old": flat})
		require.Equal(t, growth.MilliCPU(250), w.direct["uid-old"])
	})
}

func TestAdviceThatIsNonsenseIsNotPassedOn(t *testing.T) {
	in(t, flowcon.Corrected, func(t *testing.T, w *world) {
		w.arrive("a")
		many := 1000
		w.put(bus.AdviceKey(ref("a").UID), encode(t, bus.Advice{Generation: 1, Loaders: &many}))
		w.put(bus.AdviceKey(ref("b").UID), []byte(`{"v":99}`))
		w.put(bus.AllocationKey("node", "uid-x"), []byte(`{"v":99}`))
		w.pass(interval)
		require.Empty(t, w.sent)
		require.NotZero(t, w.sample("a"), "and nothing else is disturbed")
	})
}

func TestASlotThatIsUsedAgainKnowsNothingOfItsFormerJob(t *testing.T) {
	in(t, flowcon.Corrected, func(t *testing.T, w *world) {
		w.arrive("a")
		four := 4
		w.put(bus.AdviceKey(ref("a").UID), encode(t, bus.Advice{Generation: 7, Loaders: &four}))
		w.pass(time.Second)
		require.NotEmpty(t, w.sent)
		ended := w.pods[ref("a").UID]
		ended.Running = false
		w.apply(ended)
		w.pass(time.Second)
		require.Empty(t, w.open)
		next := ref("next")
		w.put(bus.AllocationKey("node", next.UID), encode(t, bus.Allocation{Pod: next, Containers: []bus.ContainerAllocation{{Name: "train", Slot: "slot-a"}}}))
		w.apply(pods.Pod{Ref: next, Running: true, Annotations: map[string]string{gpushare.MemoryAnnotation: "1"}, Containers: []pods.Container{{Name: "train", Request: 500}}})
		w.pass(time.Second)
		require.True(t, w.open["slot-a"])
		require.Empty(t, w.sent)
		w.report("a", 5, 1)
		w.pass(time.Second)
		require.Equal(t, int64(5), w.sample("next").Step)
	})
}

func TestProgressFromTheLog(t *testing.T) {
	in(t, flowcon.Corrected, func(t *testing.T, w *world) {
		w.arrive("a", gpushare.ProgressAnnotation+`=log:loss=(\S+)`)
		w.pass(time.Second)
		w.sinks[ref("a").UID].Report(wire.Progress{Step: 3, Metrics: map[string]float64{"loss": 0.5}}, true)
		w.report("a", 9, 0.1) // from the socket: its metric does not count here
		w.pass(time.Second)
		require.Equal(t, int64(3), w.sample("a").Step)
		require.Equal(t, 0.5, w.sample("a").Value)
		w.sinks[ref("a").UID].Restarted()
		w.sinks[ref("a").UID].Report(wire.Progress{Step: 1, Metrics: map[string]float64{"loss": 2}}, true)
		w.pass(interval)
		require.Equal(t, int64(1), w.sample("a").Step)
	})
}

func TestProgressFromAFile(t *testing.T) {
	in(t, flowcon.Corrected, func(t *testing.T, w *world) {
		w.arrive("a", gpushare.ProgressAnnotation+"=file:/results/loss")
		w.pass(time.Second)
		file := w.files[ref("a").UID]
		require.Equal(t, "/results/loss", file.Path)
		require.Empty(t, file.Container(), "kubelet has told of none yet")
		pod, _ := w.pod(ref("a").UID)
		pod.Containers = []pods.Container{{Name: "train", Request: 500, ID: "5f0cdd0a3f1b"}}
		w.apply(pod)
		w.pass(time.Second)
		require.Equal(t, "5f0cdd0a3f1b", file.Container())

		file.failing(errors.New("there is none"))
		file.failing(errors.New("there is none"))
		w.pass(time.Second)
		require.Equal(t, 1, w.told("a ProgressUnreadable: /results/loss can not be read: there is none"))

		file.sink.Report(wire.Progress{Step: 17, TotalSteps: 90, Metrics: map[string]float64{"loss": 0.5}}, false)
		w.pass(interval)
		got := w.sample("a")
		require.Equal(t, []any{int64(17), int64(90), 0.5}, []any{got.Step, got.TotalSteps, got.Value})
	})
}

func TestStepsCountedInALogGoOnAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.put(bus.SampleKey(ref("a").UID), encode(t, bus.Sample{Pod: ref("a"), Node: "node", Metric: "loss", Step: 40, Reported: true, Category: growth.Watching, Share: 1}))
		w.start(flowcon.Corrected)
		w.arrive("a", gpushare.ProgressAnnotation+`=log:loss=(\S+)`)
		w.pass(time.Second)
		w.sinks[ref("a").UID].Report(wire.Progress{Step: 1, Metrics: map[string]float64{"loss": 0.5}}, true)
		w.pass(interval)
		require.Equal(t, int64(41), w.sample("a").Step)
		require.Equal(t, growth.Watching, w.sample("a").Category)
		w.sinks[ref("a").UID].Restarted()
		w.sinks[ref("a").UID].Report(wire.Progress{Step: 1, Metrics: map[string]float64{"loss": 0.5}}, true)
		w.pass(interval)
		require.Equal(t, int64(1), w.sample("a").Step)
	})
}

func TestAMetricThatIsNeverReported(t *testing.T) {
	in(t, flowcon.Corrected, func(t *testing.T, w *world) {
		w.arrive("a", gpushare.MetricAnnotation+"=accuracy:max")
		w.arrive("b")
		w.train(0, 9, map[string]func(int) float64{"a": falling, "b": falling})
		require.False(t, w.sample("a").Reported)
		require.Equal(t, growth.Progressing, w.sample("a").Category, "silence is not convergence")
		require.Equal(t, 1, w.told(`a MetricMissing: The job reports loss but not "accuracy"`))
	})
}

func TestBadLinesAreToldOnceAMinute(t *testing.T) {
	in(t, flowcon.Corrected, func(t *testing.T, w *world) {
		w.arrive("a")
		for range 30 {
			w.loop.Socket("slot-a", socket.Faults{Malformed: 9, Last: wire.ErrMalformed})
			w.pass(time.Second)
		}
		w.loop.Socket("slot-nobody", socket.Faults{Malformed: 9, Last: wire.ErrMalformed})
		w.pass(time.Second)
		require.Equal(t, 1, w.told("a BadLines"))
	})
}

func TestAnAPIServerThatIsAwayIsTriedAgain(t *testing.T) {
	in(t, flowcon.Corrected, func(t *testing.T, w *world) {
		w.arrive("young")
		w.arrive("old")
		w.refuse = context.DeadlineExceeded
		w.train(0, 7, map[string]func(int) float64{"young": falling, "old": flat})
		require.Equal(t, map[string]growth.MilliCPU{"young": 500, "old": 500}, w.requests())
		require.NotZero(t, w.told("ResizeFailed"))
		w.mu.Lock()
		w.refuse = nil
		w.mu.Unlock()
		w.pass(interval)
		require.Equal(t, map[string]growth.MilliCPU{"young": 750, "old": 250}, w.requests())
	})
}

func TestABusThatIsAwayStopsNothing(t *testing.T) {
	in(t, flowcon.Corrected, func(t *testing.T, w *world) {
		w.arrive("young")
		w.arrive("old")
		w.pass(time.Second)
		w.bus.Fail(bus.ErrUnavailable)
		w.train(0, 7, map[string]func(int) float64{"young": falling, "old": flat})
		require.Equal(t, map[string]growth.MilliCPU{"young": 750, "old": 250}, w.requests())
	})
}

func TestARestartedCoordinatorGoesOn(t *testing.T) {
	for name, from := range map[string]struct{ bus, node bool }{
		"with its samples on the bus": {bus: true}, "with what it kept on the node": {node: true}, "with what is on the pods": {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				stop := w.start(flowcon.Corrected)
				w.arrive("young")
				w.arrive("old")
				w.train(0, 7, map[string]func(int) float64{"young": falling, "old": flat})
				require.Equal(t, map[string]growth.MilliCPU{"young": 750, "old": 250}, w.requests())
				stop()

				for uid, s := range w.samples {
					if from.bus {
						w.put(bus.SampleKey(uid), encode(t, s))
					}
					pod := w.pods[uid]
					pod.Annotations[gpushare.CategoryAnnotation] = string(s.Category)
				}
				w.samples, w.targets, w.events = map[growth.PodUID]bus.Sample{}, nil, nil
				if !from.node {
					w.memory = recall.Memory{}
				}
				w.start(flowcon.Corrected)
				for _, pod := range w.pods {
					w.loop.PodChanged(pod)
				}
				w.pass(2 * time.Second)
				require.Empty(t, w.targets, "shares stay")
				require.Equal(t, growth.Converged, w.sample("old").Category)
				w.train(7, 3, map[string]func(int) float64{"young": falling, "old": flat})
				require.Equal(t, map[string]growth.MilliCPU{"young": 750, "old": 250}, w.requests())
				require.Zero(t, w.told("old CategoryChanged"))
			})
		})
	}
}
