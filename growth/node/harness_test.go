package node_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
	"github.com/trellis-gpu/trellis/growth/programs"
	"github.com/trellis-gpu/trellis/growth/trial"
	"github.com/trellis-gpu/trellis/growth/wire"
)

const interval = 10 * time.Second

// harness simulates the environment of a node: API server, kubelet, bus, jobs and time. Its kubelet applies resizes at
// once.
type harness struct {
	t        *testing.T
	node     *node.Node
	config   node.Config
	now      time.Time
	nextTick time.Time
	wake     time.Time

	pods        map[growth.PodUID]node.Pod
	allocations map[growth.PodUID]bus.Allocation
	advice      map[growth.PodUID]bus.Advice
	samples     map[growth.PodUID]bus.Sample
	load        bus.NodeLoad
	memory      node.Memory
	events      []string
	annotated   map[string]map[string]string // annotations by pod
	resized     []node.Resize
	published   map[programs.ID][]programs.Run // the runs of programs that are on the bus
	remote      []programs.Run                 // what other nodes have learned, of any program
	sent        map[string]wire.Config
	stopped     map[string]wire.Stop
	saves       map[string]wire.Save
	signals     []node.SignalSave
	frozen      map[string]bool           // by container
	unfreezable string                    // why no container can be frozen; empty if they can
	gangs       map[string]*bus.GangRanks // what the node says on the bus
	refuse      node.ResizeResult         // the API server's answer to resizes
	held        bool                      // results of resizes are not reported
	busy        node.GPUBusy              // what the driver measures
	newcomers   map[growth.GPU]growth.Share
	machine     *machine
	annotations map[string][]string                   // of the jobs of complete, by name
	kubelet     func(before, asked node.Pod) node.Pod // returns the pod after a resize; nil applies every resize

	memoryResized []node.MemoryResize
}

func newHarness(t *testing.T) *harness {
	return &harness{
		t:           t,
		now:         time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC),
		pods:        map[growth.PodUID]node.Pod{},
		allocations: map[growth.PodUID]bus.Allocation{},
		advice:      map[growth.PodUID]bus.Advice{},
		samples:     map[growth.PodUID]bus.Sample{},
		annotated:   map[string]map[string]string{},
		sent:        map[string]wire.Config{},
		stopped:     map[string]wire.Stop{},
		saves:       map[string]wire.Save{},
		frozen:      map[string]bool{},
		gangs:       map[string]*bus.GangRanks{},
		published:   map[programs.ID][]programs.Run{},
	}
}

// start starts a coordinator with the memory of the previous one and the current advice.
func (w *harness) start(name policy.Name) {
	w.config.Policy, w.config.Interval, w.config.Objective = name, interval, fairfinish.Balanced
	w.config.Alpha, w.config.Beta = 0.05, 2
	w.config.Damping = node.KubeletDamping(interval)
	w.node = node.New(w.config)
	w.nextTick, w.wake = w.now.Add(interval), time.Time{}
	w.step(node.MemoryRestored{Memory: w.memory})
	w.step(node.CapacityChanged{CPU: 2 * growth.Core})
	w.step(node.AdviceChanged{Advice: w.advice})
	w.listAllocations()
}

// in runs a test in a harness with a coordinator.
func in(t *testing.T, name policy.Name, test func(t *testing.T, w *harness)) {
	t.Helper()
	w := newHarness(t)
	w.start(name)
	test(t, w)
}

// step steps the node and executes the effects.
func (w *harness) step(e node.Event) {
	effects := w.node.Step(w.now, e)
	w.wake = effects.Wake
	for _, c := range effects.Configs {
		w.sent[c.Slot] = c.Config
	}
	for _, s := range effects.Stops {
		w.stopped[s.Slot] = s.Stop
	}
	for _, s := range effects.Saves {
		w.saves[s.Slot] = s.Save
	}
	w.signals = append(w.signals, effects.SignalSaves...)
	for _, g := range effects.Gangs {
		w.gangs[g.Gang] = g.Record
	}
	for _, event := range effects.Events {
		w.events = append(w.events, fmt.Sprintf("%s %s: %s", event.Pod.Name, event.Reason, event.Message))
	}
	for _, a := range effects.Annotations {
		if w.annotated[a.Pod.Name] == nil {
			w.annotated[a.Pod.Name] = map[string]string{}
		}
		w.annotated[a.Pod.Name][a.Name] = a.Value
	}
	for _, due := range effects.Samples {
		s, ok, err := w.node.Sample(due.Pod)
		require.NoError(w.t, err)
		if ok {
			w.samples[due.Pod] = s
		}
	}
	for _, pod := range effects.Forget {
		delete(w.samples, pod)
	}
	if effects.Load != nil {
		w.load = *effects.Load
		w.newcomers = effects.Newcomers
	}
	for _, p := range effects.Learned {
		w.published[p.Program] = p.Runs
		if len(p.Runs) == 0 {
			delete(w.published, p.Program)
		}
	}
	for _, of := range effects.Recall {
		w.step(node.RunsProvided{Pod: of.Pod.UID, Runs: w.remote})
	}
	if effects.Persist {
		m, err := w.node.Memory()
		require.NoError(w.t, err)
		w.memory = m
	}
	if len(effects.Open) > 0 {
		w.step(node.SlotsOpened{Slots: effects.Open})
	}
	w.resized = append(w.resized, effects.Resizes...)
	w.memoryResized = append(w.memoryResized, effects.MemoryResizes...)
	for _, r := range effects.Resizes {
		w.resize(r)
	}
	for _, f := range effects.Freezes {
		w.freeze(f)
	}
}

// freeze plays the kernel.
func (w *harness) freeze(f node.ContainerFreeze) {
	done := node.FreezeFinished{Pod: f.Pod, Container: f.Container, Frozen: f.Frozen}
	if f.Frozen && w.unfreezable != "" {
		done.Frozen, done.Err = false, w.unfreezable
	}
	w.frozen[f.Container] = done.Frozen
	w.step(done)
}

// resize plays the API server and kubelet.
func (w *harness) resize(r node.Resize) {
	if w.refuse != node.ResizeAccepted {
		w.step(node.ResizeFinished{Resize: r, Result: w.refuse, Err: "refused"})
		return
	}
	pod, ok := w.pod(r.Pod.UID)
	if !ok {
		return
	}
	before := pod
	pod.Containers = []node.Container{{Name: "train", Request: r.Requests["train"], ID: pod.Trainer().ID}}
	if r.Original != "" {
		pod.Annotations[gpushare.RequestAnnotation] = r.Original
	}
	if w.kubelet != nil {
		pod = w.kubelet(before, pod)
	}
	w.apply(pod)
	if !w.held {
		w.step(node.ResizeFinished{Resize: r, Weight: int64(r.To), Verified: true})
	}
}

// usages returns the usage of each pod: that of the simulated machine, or one busy core without a machine.
func (w *harness) usages() map[growth.PodUID]node.Usage {
	usages := map[growth.PodUID]node.Usage{}
	for uid, pod := range w.pods {
		u := node.Usage{CPUKnown: true, Weight: int64(pod.Request()), Memory: 7}
		u.CPU = growth.Seconds(w.now.Sub(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).Seconds())
		if w.machine != nil {
			u.CPU = w.machine.used[uid]
		}
		usages[uid] = u
	}
	return usages
}

// pass lets time pass and sends the Ticked and Woken events that are due.
func (w *harness) pass(d time.Duration) {
	end := w.now.Add(d)
	for {
		wakes := !w.wake.IsZero() && w.wake.Before(w.nextTick)
		next := w.nextTick
		if wakes {
			next = w.wake
		}
		if next.After(end) {
			w.now = end
			return
		}
		w.now = next
		if wakes {
			w.step(node.Woken{Usages: w.usages()})
			continue
		}
		w.nextTick = w.nextTick.Add(interval)
		w.step(node.Ticked{Usages: w.usages(), Busy: w.busy})
	}
}

func (w *harness) pod(uid growth.PodUID) (node.Pod, bool) {
	pod, ok := w.pods[uid]
	pod.Annotations = maps.Clone(pod.Annotations)
	return pod, ok
}

func (w *harness) apply(pod node.Pod) {
	w.pods[pod.Ref.UID] = pod
	w.step(node.PodUpdated{Pod: pod})
}

// arrive starts a pod with a request of 500m, and annotations in the form "name=value".
func (w *harness) arrive(name string, annotations ...string) {
	pod := node.Pod{
		Ref:         ref(name),
		Running:     true,
		Annotations: map[string]string{gpushare.MemoryAnnotation: "1"},
		Containers:  []node.Container{{Name: "train", Request: 500}},
	}
	for _, a := range annotations {
		key, value, _ := strings.Cut(a, "=")
		pod.Annotations[key] = value
	}
	w.apply(pod)
	w.allocate(name)
}

// run starts a pod that runs a program.
func (w *harness) run(name, program string, numbers ...string) {
	w.apply(node.Pod{
		Ref:         ref(name),
		Running:     true,
		Annotations: map[string]string{gpushare.MemoryAnnotation: "1"},
		Containers:  []node.Container{{Name: "train", Request: 500}},
		Program:     program,
		Anywhere:    program,
		Numbers:     numbers,
	})
	w.allocate(name)
}

// allocate lets kubelet allocate a GPU to a pod.
func (w *harness) allocate(name string) { w.allocateOn(name, "GPU-1") }

func (w *harness) allocateOn(name string, gpu growth.GPU) {
	w.allocations[ref(name).UID] = bus.Allocation{Pod: ref(name), Containers: []bus.ContainerAllocation{{
		Name: "train", Slot: "slot-" + name, GPUs: []growth.GPUShare{{GPU: gpu, Memory: 1024}},
	}}}
	w.listAllocations()
}

func (w *harness) listAllocations() {
	e := node.AllocationsChanged{Synced: true}
	for _, uid := range slices.Sorted(maps.Keys(w.allocations)) {
		e.Allocations = append(e.Allocations, w.allocations[uid])
	}
	w.step(e)
}

func (w *harness) remove(name string) {
	delete(w.pods, ref(name).UID)
	w.step(node.PodDeleted{Pod: ref(name).UID})
}

func (w *harness) report(name string, step int64, loss float64) {
	w.send(name, wire.Progress{Step: step, Steps: 1, Samples: 64, StepSeconds: 0.5, LoadSeconds: 0.125, Metrics: wire.Metrics{{Name: "loss", Value: loss}}})
}

// send sends a progress report through the job's slot.
func (w *harness) send(name string, p wire.Progress) {
	w.step(node.ProgressReported{Slot: "slot-" + name, Source: gpushare.FromSocket, Progress: p})
}

// train lets n intervals pass in which each job reports its loss once.
func (w *harness) train(from, n int, losses map[string]func(int) float64) {
	for i := from; i < from+n; i++ {
		for _, name := range slices.Sorted(maps.Keys(losses)) {
			w.report(name, int64(i+1), losses[name](i))
		}
		w.pass(interval)
	}
}

func (w *harness) sample(name string) bus.Sample { return w.samples[ref(name).UID] }

// jobState and nodeState have the parts of the encoded states that tests check.
type jobState struct {
	Work struct {
		StepCost growth.Work       `json:"stepCost"`
		Fair     *fairfinish.State `json:"fair"`
	} `json:"work"`
	Trial *trial.State `json:"batchTrial"`
}

type nodeState struct {
	Fair  fairfinish.State `json:"fair"`
	Ended []node.Run       `json:"ended"`
}

func (w *harness) state(name string) jobState { return stateOf(w.t, w.sample(name)) }

func stateOf(t *testing.T, s bus.Sample) (state jobState) {
	require.NoError(t, json.Unmarshal(s.State, &state))
	return state
}

func (w *harness) nodeState() (state nodeState) {
	require.NoError(w.t, json.Unmarshal(w.memory.State, &state))
	return state
}

func (w *harness) requests() map[string]growth.MilliCPU {
	requests := map[string]growth.MilliCPU{}
	for _, p := range w.pods {
		requests[p.Ref.Name] = p.Request()
	}
	return requests
}

// eventCount counts the events that contain a text.
func (w *harness) eventCount(what string) int {
	n := 0
	for _, e := range w.events {
		if strings.Contains(e, what) {
			n++
		}
	}
	return n
}

func (w *harness) explain(name string) node.Explanation {
	e, ok := w.node.Explain(ref(name).String())
	require.True(w.t, ok)
	return e
}

var (
	falling = func(i int) float64 { return 100 - float64(i) }
	flat    = func(int) float64 { return 1 }
)
