package node_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/interference"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// scenario is a node and its environment, controlled by the commands of a transcript.
type scenario struct {
	t       *testing.T
	config  node.Config
	cores   growth.MilliCPU
	node    *node.Node
	start   time.Time
	now     time.Time
	wake    time.Time
	pods    map[string]node.Pod
	cpu     map[string]growth.Seconds
	trained int               // number of rounds of train
	refuses map[string]string // kubelet's message by pod
	configs map[string]wire.Config
	rules   cpuRules
	gpus    *gpus
	cluster *interference.Learner // learns from other nodes
	stalled growth.Seconds        // time in which tasks of the node have waited for a CPU
	// lastReport is the last report of each pod.
	lastReport map[string]node.ProgressReported
	lines      []string
}

// run runs one command.
func (s *scenario) run(command string) {
	words := strings.Fields(command)
	what, args := words[0], words[1:]
	if s.runCPU(what, args) || s.runGPU(what, args) || s.runModel(what, args) || s.runMetric(what, args) {
		return
	}
	switch what {
	case "node":
		s.newNode(args)
	case "coordinator":
		s.restartCoordinator()
	case "pod":
		s.runPod(args[0], values(args[1:]))
	case "delete":
		delete(s.pods, args[0])
		s.gpus.remove(args[0])
		s.step(node.PodDeleted{Pod: uid(args[0])})
		s.allocate()
	case "ends", "starts":
		pod := s.pods[args[0]]
		pod.Containers = slices.Clone(pod.Containers)
		pod.Containers[0].Ended = what == "ends"
		s.pods[args[0]] = pod
		s.step(node.PodUpdated{Pod: pod})
	case "restart":
		pod := s.pods[args[0]]
		s.step(node.ContainerRestarted{Pod: pod.Ref.UID})
	case "log":
		s.log(args[0], args[1], strings.Join(args[2:], " "))
	case "leaves":
		s.step(node.ProcessLeft{Slot: "slot-" + args[0], Connection: s.count(values(args[1:])["connection"])})
	case "ddp":
		for range s.count(args[0]) {
			s.ddp(args[1], values(args[2:]))
		}
	case "report":
		s.report(args[0], values(args[1:]))
	case "tick":
		s.tick(s.duration(args[0]), values(args[1:]))
	case "train":
		n, err := strconv.Atoi(args[0])
		require.NoError(s.t, err)
		for range n {
			s.train(values(args[1:]))
		}
	case "wait":
		s.now = s.wake
		s.step(node.Woken{Usages: s.usages(), GPU: s.gpus.uses(), Busy: s.gpus.busy()})
	case "kubelet":
		name, message, _ := strings.Cut(strings.Join(args[1:], " "), ": ")
		s.refuses[name] = message // empty if kubelet accepts
	case "advise":
		s.advise(args[0], values(args[1:]))
	case "ack":
		s.ack(args[0], values(args[1:]))
	default:
		s.t.Fatalf("unknown command %q", command)
	}
}

func (s *scenario) newNode(args []string) {
	v := values(args)
	s.config = node.Config{
		Freeze:   v["freeze"] == "on",
		Ends:     true,
		Policy:   policy.Name(v["policy"]),
		Interval: s.duration(v["interval"]),
		Alpha:    0.05,
		Beta:     2,
		GPUTime:  policy.GPUTime(v["gpu-time"]),
	}
	s.config.Damping = node.KubeletDamping(s.config.Interval)
	s.start = time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	s.now = s.start
	s.cores = s.milli(v["cores"] + "000m")
	s.pods, s.cpu = map[string]node.Pod{}, map[string]growth.Seconds{}
	s.refuses, s.configs = map[string]string{}, map[string]wire.Config{}
	s.gpus = newGPUs()
	s.cluster = interference.NewLearner(interference.Prior())
	s.lastReport = map[string]node.ProgressReported{}
	s.node = node.New(s.config)
	s.step(node.CapacityChanged{CPU: s.cores})
}

func (s *scenario) restartCoordinator() {
	memory, err := s.node.Memory()
	require.NoError(s.t, err)
	s.gpus.restart()
	s.node = node.New(s.config)
	s.step(node.MemoryRestored{Memory: memory})
	s.step(node.CapacityChanged{CPU: s.cores})
	for _, name := range slices.Sorted(maps.Keys(s.pods)) {
		s.step(node.PodUpdated{Pod: s.pods[name]})
	}
	s.allocate()
}

func (s *scenario) runPod(name string, v map[string]string) {
	pod := node.Pod{
		Ref:         growth.PodRef{Namespace: "ns", Name: name, UID: uid(name)},
		Running:     true,
		Created:     s.now,
		Annotations: map[string]string{gpushare.MemoryAnnotation: "1", gpushare.GPUAnnotation: "GPU-0"},
		Containers:  []node.Container{{Name: "train", ID: "container-" + name, Request: s.milli(v["cpu"])}},
		Program:     v["program"],
		Owner:       v["owner"],
		Command:     v["command"],
		Distributed: v["distributed"] == "true",
	}
	for key, annotation := range map[string]string{
		"metric":    gpushare.MetricAnnotation,
		"target":    gpushare.TargetAnnotation,
		"priority":  gpushare.PriorityAnnotation,
		"deadline":  gpushare.DeadlineAnnotation,
		"progress":  gpushare.ProgressAnnotation,
		"tune":      gpushare.TuneAnnotation,
		"gpu-cores": gpushare.CoresAnnotation,
		"planned":   gpushare.GPUAnnotation,
	} {
		if v[key] != "" {
			pod.Annotations[annotation] = v[key]
		}
	}
	if v["class"] != "" {
		pod.Priority = int32(s.count(v["class"]))
	}
	s.outside(&pod, v)
	s.gpus.add(name, v["gpus"])
	s.pods[name] = pod
	s.step(node.PodUpdated{Pod: pod})
	s.allocate()
}

// allocate sends kubelet's allocations: a GPU and a slot for every pod.
func (s *scenario) allocate() {
	e := node.AllocationsChanged{Synced: true}
	for _, name := range slices.Sorted(maps.Keys(s.pods)) {
		e.Allocations = append(e.Allocations, bus.Allocation{Pod: s.pods[name].Ref, Containers: []bus.ContainerAllocation{{
			Name: "train", Slot: "slot-" + name, GPUs: s.gpus.of(name),
		}}})
	}
	s.step(e)
}

func (s *scenario) report(name string, v map[string]string) {
	p := wire.Progress{Metrics: wire.Metrics{}, Steps: 1}
	connection := int64(0)
	for key, value := range v {
		number, err := strconv.ParseFloat(value, 64)
		require.NoError(s.t, err)
		switch key {
		case "step":
			p.Step = int64(number)
		case "total":
			p.TotalSteps = int64(number)
		case "samples":
			p.Samples = int64(number)
		case "loaders":
			p.Loaders = new(int(number))
		case "batch":
			p.BatchSize = new(int(number))
		case "rank":
			p.Rank = new(int(number))
		case "world_size":
			p.WorldSize = int(number)
		case "connection":
			connection = int64(number)
		default:
			p.Metrics.Set(key, number)
		}
	}
	e := node.ProgressReported{Slot: "slot-" + name, Connection: connection, Source: gpushare.FromSocket, Progress: p}
	if strings.HasPrefix(s.pods[name].Annotations[gpushare.ProgressAnnotation], "log:") {
		e = node.ProgressReported{Pod: uid(name), Source: gpushare.FromLog, Progress: p}
	}
	s.lastReport[name] = e
	s.step(e)
}

func (s *scenario) tick(elapsed time.Duration, used map[string]string) {
	s.now = s.now.Add(elapsed)
	for name, text := range used {
		s.cpu[name] += growth.Seconds(s.duration(text).Seconds())
	}
	s.step(node.Ticked{Usages: s.usages(), GPU: s.gpus.uses(), Busy: s.gpus.busy()})
}

// train runs a round. Jobs use 5 s of CPU and report a loss that falls by 1 from 100 (falling) or stays at 1 (flat).
// A job can also report eval_loss in every fifth round only (rare), or nothing (silent).
func (s *scenario) train(jobs map[string]string) {
	used := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(jobs)) {
		used[name] = "5s"
		switch jobs[name] {
		case "silent":
			continue
		case "rare":
			s.evaluateRarely(name)
			continue
		}
		loss := map[string]string{"falling": strconv.Itoa(100 - s.trained), "flat": "1"}[jobs[name]]
		s.report(name, map[string]string{"step": strconv.Itoa(s.trained + 1), "loss": loss})
	}
	s.trained++
	s.tick(s.config.Interval, used)
}

// evaluateRarely reports 10 steps of a round with a flat loss. The first one of every fifth round has an eval_loss that falls.
func (s *scenario) evaluateRarely(name string) {
	for i := range 10 {
		report := map[string]string{"step": strconv.Itoa(10*s.trained + i + 1), "loss": "2.5"}
		if i == 0 && s.trained%5 == 4 {
			report["eval_loss"] = strconv.Itoa(100 - s.trained)
		}
		s.report(name, report)
	}
}

// ddp runs a round in which the ranks of a job train 20 steps in turns of 4. The loss of each rank is its own.
func (s *scenario) ddp(name string, v map[string]string) {
	ranks, used := s.count(v["ranks"]), map[string]string{name: "5s"}
	for first := range int64(5) {
		for rank := range ranks {
			for step := 20*int64(s.trained) + 4*first; step < 20*int64(s.trained)+4*first+4; step++ {
				report := map[string]string{"step": fmt.Sprint(step + 1), "loss": fmt.Sprint(100 - float64(step)/20 + float64(rank))}
				switch v["by"] {
				case "rank":
					report["rank"], report["world_size"] = fmt.Sprint(rank), fmt.Sprint(ranks)
				case "connection":
					report["connection"] = fmt.Sprint(rank + 1)
				}
				s.report(name, report)
			}
		}
	}
	s.trained++
	s.tick(s.config.Interval, used)
}

func (s *scenario) count(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	require.NoError(s.t, err)
	return n
}

func (s *scenario) usages() map[growth.PodUID]node.Usage {
	usages := map[growth.PodUID]node.Usage{}
	for name := range s.pods {
		usages[uid(name)] = node.Usage{CPU: s.cpu[name], CPUKnown: true, Memory: 100, Weight: s.rules.inert[name]}
	}
	return usages
}

// resize plays kubelet, which refuses increases for the pods that the transcript names.
func (s *scenario) resize(r node.Resize) {
	if s.answer(r) {
		return
	}
	name := r.Pod.Name
	pod := s.pods[name]
	pod.Annotations = maps.Clone(pod.Annotations)
	if r.Original != "" {
		pod.Annotations[gpushare.RequestAnnotation] = r.Original
	}
	before := pod.Containers[0].Request
	pod.Containers = []node.Container{{Name: "train", ID: pod.Trainer().ID, Request: r.Requests["train"], Allocated: r.Requests["train"]}}
	pod.ResizeStatus, pod.ResizedBy = node.ResizeStatus{}, gpushare.FieldManager
	refused := s.refuses[name] != "" && r.To > r.From
	if refused {
		pod.Containers[0].Allocated = before
		pod.ResizeStatus = node.ResizeStatus{Reason: node.Infeasible, Message: s.refuses[name]}
	}
	s.pods[name] = pod
	s.step(node.PodUpdated{Pod: pod})
	if !refused {
		weight, verified := s.weigh(r)
		s.step(node.ResizeFinished{Resize: r, Weight: weight, Verified: verified})
	}
}

func (s *scenario) advise(name string, v map[string]string) {
	number := func(key string) *int {
		if v[key] == "" {
			return nil
		}
		n, err := strconv.Atoi(v[key])
		require.NoError(s.t, err)
		return &n
	}
	s.step(node.AdviceChanged{Advice: map[growth.PodUID]bus.Advice{
		uid(name): {Generation: int64(*number("generation")), Loaders: number("loaders"), BatchSize: number("batch"), Reason: v["reason"]},
	}})
}

func (s *scenario) ack(name string, v map[string]string) {
	slot := "slot-" + name
	c := s.configs[slot]
	s.step(node.ConfigSent{Slot: slot, Generation: c.Generation})
	ack := wire.Ack{Generation: c.Generation, Applied: c.Values}
	if v["rank"] != "" {
		ack.Rank = new(int(s.count(v["rank"])))
	}
	s.step(node.ConfigAcked{Slot: slot, Ack: ack})
}

func uid(name string) growth.PodUID { return growth.PodUID("uid-" + name) }

func values(words []string) map[string]string {
	v := map[string]string{}
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		v[key] = value
	}
	return v
}

func (s *scenario) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	require.NoError(s.t, err)
	return d
}

func (s *scenario) milli(text string) growth.MilliCPU {
	n, err := strconv.Atoi(strings.TrimSuffix(text, "m"))
	require.NoError(s.t, err)
	return growth.MilliCPU(n)
}
