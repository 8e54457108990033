package node_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/interference"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
	"github.com/trellis-gpu/trellis/growth/remaining"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// FuzzStep steps a node with arbitrary events. Step must not panic, effects must be bounded and encodable, shares must
// add up to at most 1, and equal events must have equal effects.
func FuzzStep(f *testing.F) {
	f.Add([]byte("a typical start"))
	f.Add([]byte{0, 0, 0, 1, 0, 2, 8, 0, 3, 0, 8, 0, 3, 0, 8, 0, 3, 1, 8, 0, 9, 0, 1, 0, 9, 0})
	for p := range byte(4) {
		script := []byte{p, 0, 0, 0, 1, 0, 2, 7, 9}
		for i := range byte(60) {
			script = append(script, 3, i%3, i, 8, i, 11, i%3, 4, i)
		}
		f.Add(script)
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) > 2000 {
			return
		}
		once, onceMemory := replay(t, script)
		again, againMemory := replay(t, script)
		require.Equal(t, once, again)
		require.Equal(t, onceMemory, againMemory)
	})
}

// replay steps a new node with the events of a script and returns all effects and the memory.
func replay(t *testing.T, script []byte) ([]node.Effects, node.Memory) {
	names := []policy.Name{policy.Fair, policy.FlowCon, policy.FlowConLiteral, policy.QoreDL, policy.Harmless}
	s := eventScript{bytes: script}
	n := node.New(node.Config{
		Policy:    names[s.next()%4],
		Interval:  10 * time.Second,
		Alpha:     0.05,
		Beta:      2,
		Objective: fairfinish.Balanced,
		GPUTime:   policy.GPUTimeOn,
		Ends:      true,
		Damping:   node.KubeletDamping(10 * time.Second),
	})
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var all []node.Effects
	for len(s.bytes) > 0 {
		e, elapsed := s.event()
		now = now.Add(elapsed)
		effects := n.Step(now, e)
		check(t, n, effects)
		all = append(all, effects)
		if len(effects.Open) > 0 {
			all = append(all, n.Step(now, node.SlotsOpened{Slots: effects.Open}))
		}
	}
	memory, err := n.Memory()
	require.NoError(t, err)
	return all, memory
}

// check checks the invariants that hold after every step.
func check(t *testing.T, n *node.Node, e node.Effects) {
	jobs := n.Jobs()
	sum := growth.Share(0)
	for _, j := range jobs {
		require.False(t, math.IsNaN(float64(j.Share)))
		_, ok := n.Explain(j.Pod.String())
		require.True(t, ok)
		sum += j.Share
		s, ok, err := n.Sample(j.Pod.UID)
		require.NoError(t, err)
		require.True(t, ok)
		_, err = bus.Encode(s)
		require.NoError(t, err)
	}
	for _, entry := range e.Log {
		if entry.Message == "decided" {
			require.LessOrEqual(t, float64(sum), 1+1e-9, "shares after a decision")
		}
	}
	checkTurns(t, e.Turns)
	require.LessOrEqual(t, len(e.Resizes), len(jobs))
	require.LessOrEqual(t, len(e.Samples), len(jobs)+1)
	require.LessOrEqual(t, len(e.Log), 8*(len(jobs)+2))
	require.LessOrEqual(t, len(e.Events), 8*(len(jobs)+2))
	for _, r := range e.Resizes {
		require.Positive(t, r.To)
	}
	if e.Load != nil {
		_, err := json.Marshal(e.Load)
		require.NoError(t, err)
	}
}

// checkTurns checks that no GPU is given for more than all of the time, and each to one group only.
func checkTurns(t *testing.T, plan *node.TurnPlan) {
	if plan == nil {
		return
	}
	groups := map[growth.GPU]int{}
	for _, g := range plan.Groups {
		busy := map[growth.GPU]growth.Share{}
		require.NotEmpty(t, g.Jobs)
		for _, gpu := range g.GPUs {
			groups[gpu]++
		}
		for _, j := range g.Jobs {
			require.Positive(t, float64(j.Share))
			for _, gpu := range j.GPUs {
				require.Contains(t, g.GPUs, gpu)
				busy[gpu] += j.Share
			}
		}
		for _, b := range busy {
			require.LessOrEqual(t, float64(b), 1+1e-6)
		}
	}
	for _, count := range groups {
		require.Equal(t, 1, count)
	}
}

// eventScript decodes events from bytes.
type eventScript struct{ bytes []byte }

func (s *eventScript) next() byte {
	if len(s.bytes) == 0 {
		return 0
	}
	b := s.bytes[0]
	s.bytes = s.bytes[1:]
	return b
}

func (s *eventScript) name() string { return string('a' + rune(s.next()%4)) }

func (s *eventScript) value() float64 {
	b := s.next()
	return []float64{float64(b), -float64(b), float64(b) / 256, math.NaN(), math.Inf(1), 1e300, -1e300, 0}[b%8]
}

// event returns the next event and the time that passes before it.
func (s *eventScript) event() (e node.Event, elapsed time.Duration) {
	switch s.next() % 17 {
	case 0, 1:
		return node.PodUpdated{Pod: s.pod()}, 0
	case 2:
		e := node.AllocationsChanged{Synced: s.next()%2 == 0}
		for range s.next() % 5 {
			name := s.name()
			e.Allocations = append(e.Allocations, bus.Allocation{Pod: ref(name), Containers: []bus.ContainerAllocation{{
				Slot: "slot-" + s.name(), GPUs: []growth.GPUShare{{GPU: growth.GPU(s.name()), Memory: 1}},
			}}})
		}
		return e, 0
	case 3, 4, 5:
		return s.report(), time.Duration(s.next()) * time.Millisecond
	case 6:
		return node.PodDeleted{Pod: ref(s.name()).UID}, 0
	case 7:
		return node.CapacityChanged{CPU: growth.MilliCPU(s.next()) * 100}, 0
	case 8, 9:
		return node.Ticked{Usages: s.usages(), GPU: s.gpuUses(), Busy: s.busy()}, time.Duration(s.next())*100*time.Millisecond - time.Second
	case 10:
		return node.Woken{Usages: s.usages(), GPU: s.gpuUses()}, time.Duration(s.next()) * 100 * time.Millisecond
	case 11:
		n := int(s.next())
		return node.AdviceChanged{Advice: map[growth.PodUID]bus.Advice{
			ref(s.name()).UID: {Generation: int64(s.next()), Loaders: &n, BatchSize: &n},
		}}, 0
	case 12:
		n := int(s.next())
		return node.ConfigAcked{Slot: "slot-" + s.name(), Ack: wire.Ack{Generation: int64(s.next()), Applied: wire.Values{BatchSize: &n}}}, 0
	case 13:
		name := s.name()
		to := growth.MilliCPU(s.next()) + 1
		return node.ResizeFinished{
			Resize: node.Resize{Pod: ref(name), To: to, Requests: node.Requests{"train": to}},
			Result: node.ResizeResult(s.next() % 6),
			Weight: int64(s.next()),
		}, 0
	case 14:
		return node.ForecastProvided{Pod: ref(s.name()).UID, Remaining: s.estimate(), ToTarget: s.estimate()}, 0
	case 15:
		return node.InterferenceLearned{Model: s.model()}, 0
	}
	return node.ContainerRestarted{Pod: ref(s.name()).UID}, 0
}

// model has learned something about the program of pod.
func (s *eventScript) model() interference.Model {
	l := interference.NewLearner(interference.Prior())
	kind := interference.KindOf("ns", gpushare.Spec{}.Similar("train"))
	speed := float64(s.next()) / 256
	_ = l.Observe(interference.Measurement{
		Set:     []interference.Member{{Kind: kind, Speed: speed}, {Kind: kind, Speed: speed}},
		Seconds: growth.Seconds(s.next()),
	})
	return l.Model()
}

func (s *eventScript) busy() node.GPUBusy {
	measured := node.BusyTime{Kernels: growth.Seconds(s.next()), Processes: int(s.next()) % 3}
	return node.GPUBusy{
		At:   growth.Seconds(s.next()),
		GPUs: map[growth.GPU]map[growth.PodUID]node.BusyTime{"GPU-0": {ref(s.name()).UID: measured}},
	}
}

func (s *eventScript) pod() node.Pod {
	b := s.next()
	pod := node.Pod{
		Ref:         ref(s.name()),
		Running:     b%8 != 0,
		Program:     []string{"", "train"}[b/8%2],
		Annotations: map[string]string{gpushare.MemoryAnnotation: "1", gpushare.TuneAnnotation: "cpu,loaders,batch-size"},
		Containers:  []node.Container{{Name: "train", Request: growth.MilliCPU(s.next())*4 + 4, Limit: growth.MilliCPU(b/64) * 1000}},
	}
	if b%8 == 1 {
		pod.ResizeStatus = node.ResizeStatus{Reason: node.Infeasible, Message: "no room"}
		pod.Containers[0].Allocated = growth.MilliCPU(s.next()) + 1
	}
	if b%8 == 2 {
		pod.Annotations[gpushare.RequestAnnotation] = fmt.Sprintf("train=%dm", s.next())
	}
	if b/16%2 == 1 {
		pod.Priority = int32(b)<<24 | 1000
		pod.Annotations[gpushare.TargetAnnotation] = fmt.Sprintf("loss<=%d", b)
		pod.Annotations[gpushare.DeadlineAnnotation] = fmt.Sprintf("%dm", b)
		pod.Created = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return pod
}

func (s *eventScript) report() node.Event {
	n := int(s.next())
	name, process := s.name(), s.next()
	connection := int64(process % 4)
	if process%16 == 15 {
		return node.ProcessLeft{Slot: "slot-" + name, Connection: connection}
	}
	var identity wire.Process
	if process/16 < 4 {
		rank := int(process / 16)
		identity = wire.Process{Rank: &rank, LocalRank: &rank, WorldSize: 4}
	}
	return node.ProgressReported{Slot: "slot-" + name, Connection: connection, Source: gpushare.FromSocket, Progress: wire.Progress{
		Process:    identity,
		Step:       int64(s.next()),
		Epoch:      int64(s.next() % 3),
		TotalSteps: int64(s.next()),
		Samples:    int64(s.next()),
		BatchSize:  &n,
		Loaders:    &n,
		Metrics:    wire.Metrics{{Name: "loss", Value: s.value()}},
	}}
}

func (s *eventScript) usages() map[growth.PodUID]node.Usage {
	usages := map[growth.PodUID]node.Usage{}
	for range s.next() % 5 {
		usages[ref(s.name()).UID] = node.Usage{
			CPU:         growth.Seconds(s.next()),
			CPUKnown:    s.next()%8 != 0,
			Queued:      growth.Seconds(s.next()),
			QueuedKnown: s.next()%2 == 0,
		}
	}
	return usages
}

func (s *eventScript) gpuUses() map[growth.PodUID]node.GPUUse {
	uses := map[growth.PodUID]node.GPUUse{}
	for range s.next() % 4 {
		uses[ref(s.name()).UID] = node.GPUUse{
			Held:   growth.Seconds(s.next()),
			Waited: growth.Seconds(s.next()),
			Alone:  growth.Seconds(s.next()),
			Steps:  int64(s.next()),
			Gated:  s.next()%4 != 0,

			AloneSteps: int64(s.next()),
			AloneIn:    growth.Seconds(s.next()),
		}
	}
	return uses
}

func (s *eventScript) estimate() *remaining.Estimate {
	if s.next()%4 == 0 {
		return nil
	}
	low := growth.Work(s.next())
	return &remaining.Estimate{Low: low, Likely: low + growth.Work(s.next()), High: 600, Known: s.next()%4 != 0}
}

func ref(name string) growth.PodRef {
	return growth.PodRef{Namespace: "ns", Name: name, UID: uid(name)}
}
