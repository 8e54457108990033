package node_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// far is one rank of a job, on a node of its own. It behaves as the shim does.
type far struct {
	*harness
	name     string // of the node and the pod
	rank     int
	step     int64
	order    wire.Stop
	stopped  bool
	answered int64 // the last request to save
}

// job is a job with one rank on each of two nodes, and the bus between them.
type job struct {
	ranks []*far
	alone map[string]bool // nodes that the bus does not reach
}

func newJob(t *testing.T) *job { return newJobOf(t, true) }

// newJobOf returns such a job, whose command says that it is one, or only its processes do.
func newJobOf(t *testing.T, distributed bool) *job {
	j := &job{alone: map[string]bool{}}
	for rank, name := range []string{"a", "b"} {
		w := newHarness(t)
		w.start(policy.Fair)
		w.arrive(name)
		pod := w.pods[ref(name).UID]
		pod.Owner, pod.Command, pod.Distributed = "ddp", "train", distributed
		w.apply(pod)
		j.ranks = append(j.ranks, &far{harness: w, name: name, rank: rank})
	}
	j.seconds(3)
	return j
}

// seconds lets the ranks make two steps a second, both at the same time, and the nodes hear each other.
func (j *job) seconds(n int) {
	for range n {
		for range 2 {
			j.advance()
		}
		for _, r := range j.ranks {
			r.work()
			r.pass(time.Second)
		}
		j.exchange()
	}
}

// advance makes one step of the job, if no rank waits.
func (j *job) advance() {
	for _, r := range j.ranks {
		r.stopped = r.order.Stop && r.step >= r.order.AfterStep
		if r.stopped {
			return
		}
	}
	for _, r := range j.ranks {
		r.step++
	}
}

// work reports, answers orders and saves.
func (r *far) work() {
	who := wire.Process{Rank: &r.rank, WorldSize: 2}
	slot := "slot-" + r.name
	if !r.stopped {
		r.send(r.name, wire.Progress{Step: r.step, Steps: 2, StepSeconds: 0.5, Process: who})
	}
	order := r.harness.stopped[slot]
	if order.Sequence > r.order.Sequence {
		passed := order.Stop && !r.stopped && r.step >= order.AfterStep
		r.order = order
		r.order.Stop = order.Stop && !passed
		r.stopped = r.order.Stop && r.step >= r.order.AfterStep
		r.harness.step(node.ProcessStopped{Slot: slot, Stopped: wire.Stopped{Sequence: order.Sequence, Step: r.step, Stopped: r.stopped, Process: who}})
	} else if r.order.Stop && r.step >= r.order.AfterStep {
		r.stopped = true
		r.harness.step(node.ProcessStopped{Slot: slot, Stopped: wire.Stopped{Sequence: r.order.Sequence, Step: r.step, Stopped: true, Process: who}})
	}
	request := r.saves[slot].Request
	if request == 0 || request == r.answered {
		return
	}
	r.answered = request
	if r.rank == 0 {
		r.harness.step(node.CheckpointSaved{Slot: slot, Saved: wire.Saved{Path: "/ckpt", SHA256: digest, Step: r.step, Request: request, Process: who}})
		return
	}
	r.harness.step(node.CheckpointFailed{Slot: slot, Failed: wire.Failed{Request: request, Nothing: true, Process: who}})
}

// exchange delivers what each node says.
func (j *job) exchange() {
	for _, r := range j.ranks {
		others := map[string]map[growth.NodeName]bus.GangRanks{}
		for _, other := range j.ranks {
			for gang, record := range other.gangs {
				if other != r && record != nil && !j.alone[r.name] && !j.alone[other.name] {
					others[gang] = map[growth.NodeName]bus.GangRanks{growth.NodeName(other.name): *record}
				}
			}
		}
		r.harness.step(node.GangsChanged{Self: growth.NodeName(r.name), Others: others})
	}
}

func TestNode_SaysNothingOfItsRanksUntilSomebodyAsks(t *testing.T) {
	j := newJob(t)
	j.seconds(30)
	require.Empty(t, j.ranks[0].gangs)
	require.Empty(t, j.ranks[1].gangs)
}

func TestNode_RanksOnSeveralNodesPauseTogether(t *testing.T) {
	for _, paused := range []int{0, 1} {
		j := newJob(t)
		r := j.ranks[paused]
		r.annotatePod(r.name, gpushare.PausedAnnotation, "true")
		j.seconds(40)
		require.Equal(t, j.ranks[0].step, j.ranks[1].step)
		for _, r := range j.ranks {
			require.True(t, r.stopped)
			require.Equal(t, bus.PauseComplete, r.sample(r.name).Paused, r.name)
			require.Equal(t, 1, r.eventCount(r.name+" Paused: "), r.events)
		}
		r.annotatePod(r.name, gpushare.PausedAnnotation, "")
		before := r.step
		j.seconds(20)
		for _, r := range j.ranks {
			require.Greater(t, r.step, before)
			require.Empty(t, r.sample(r.name).Paused)
		}
	}
}

func TestNode_RanksOnSeveralNodesSaveTogether(t *testing.T) {
	for _, asked := range []int{0, 1} {
		j := newJob(t)
		r := j.ranks[asked]
		r.annotatePod(r.name, gpushare.SaveAnnotation, "now")
		j.seconds(30)
		for _, r := range j.ranks {
			require.Equal(t, 1, r.eventCount(r.name+" Saved: The job saved a checkpoint of step"), r.events)
			require.NotZero(t, r.answered)
			require.False(t, r.stopped, "it goes on")
		}
		require.Contains(t, r.annotated[r.name][gpushare.SavedAnnotation], "now step=")
		require.Equal(t, j.ranks[0].step, j.ranks[1].step)

		t.Log("a request that arrives later on another pod is answered by the same checkpoint")
		other := j.ranks[1-asked]
		other.annotatePod(other.name, gpushare.SaveAnnotation, "now")
		j.seconds(3)
		require.Equal(t, r.annotated[r.name][gpushare.SavedAnnotation], other.annotated[other.name][gpushare.SavedAnnotation])
		require.Equal(t, 1, other.eventCount(" Saved: "))
	}
}

// A change of the number of workers asks all pods at once, with one name, and waits for all of their answers.
func TestNode_RanksOnSeveralNodesSaveOnceWhereAllAreAsked(t *testing.T) {
	const request = "workers-6f1d"
	j := newJob(t)
	for _, r := range j.ranks {
		r.annotatePod(r.name, gpushare.SaveAnnotation, request)
	}
	j.seconds(30)
	for _, r := range j.ranks {
		require.Contains(t, r.annotated[r.name][gpushare.SavedAnnotation], request+" step=")
		require.Equal(t, j.ranks[0].annotated["a"][gpushare.SavedAnnotation], r.annotated[r.name][gpushare.SavedAnnotation])
		require.Equal(t, 1, r.eventCount(" Saved: "), r.events)
		require.False(t, r.stopped, "it goes on")
	}
}

func TestNode_RanksOnSeveralNodesContinueIfOneNodeIsSilent(t *testing.T) {
	j := newJob(t)
	j.alone["b"] = true
	j.ranks[0].annotatePod("a", gpushare.SaveAnnotation, "now")
	j.seconds(60)
	require.Contains(t, j.ranks[0].annotated["a"][gpushare.SavedAnnotation], "now failed: some of its ranks")
	require.Equal(t, 1, j.ranks[0].eventCount("some of its ranks run elsewhere, and are not connected there"))
	require.False(t, j.ranks[0].stopped)

	t.Log("the node is lost while both wait")
	j = newJob(t)
	j.ranks[1].annotatePod("b", gpushare.PausedAnnotation, "true")
	j.seconds(40)
	require.True(t, j.ranks[1].stopped)
	j.alone["a"] = true
	j.ranks[1].annotatePod("b", gpushare.PausedAnnotation, "")
	j.seconds(40)
	require.False(t, j.ranks[1].order.Stop, "this node's rank may continue")
}

func TestNode_SavesAJobOnSeveralNodesBeforeAPodEnds(t *testing.T) {
	j := newJob(t)
	j.ranks[1].delete("b", 30*time.Second)
	j.seconds(25)
	require.Equal(t, 1, j.ranks[1].eventCount("b Saved: The job saved a checkpoint"), strings.Join(j.ranks[1].events, "\n"))
	require.Equal(t, 1, j.ranks[0].eventCount("because a pod of the job is being deleted"))
	require.Empty(t, j.ranks[1].node.Jobs())
	require.NotEmpty(t, j.ranks[1].gangs)
	for _, said := range j.ranks[1].gangs {
		require.Nil(t, said, "the node says nothing about ranks that have left: others would wait for them")
	}
}

// A job moves, and its processes end. What they said must not pause the processes that come next.
func TestNode_TakesBackWhatRanksHaveSaid(t *testing.T) {
	for name, distributed := range map[string]bool{"its command says that it is one job": true, "only its processes do": false} {
		t.Run(name, func(t *testing.T) {
			j := newJobOf(t, distributed)
			j.ranks[0].annotatePod("a", gpushare.PausedAnnotation, "true")
			j.seconds(20)
			require.True(t, j.ranks[0].stopped)
			require.NotEmpty(t, j.ranks[0].gangs)
			j.ranks[0].harness.step(node.ProcessLeft{Slot: "slot-a"})
			j.ranks[0].pass(time.Second)
			for _, said := range j.ranks[0].gangs {
				require.Nil(t, said)
			}
		})
	}
}
