package deadlinesim

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// decisions is the time between two decisions of a node.
const decisions = 60 * time.Second

// trellisOptions are what the variants of Trellis do differently.
type trellisOptions struct {
	// policy divides the CPU of each host.
	policy policy.Name
	// deadlines is set if the jobs declare their deadlines.
	deadlines bool
	// asSubmitted is set if the workers request what their users submitted, and not smallRequest.
	asSubmitted bool
}

// trellis divides the CPU of each host by the state machine that runs on a real node (growth/node). Each worker is a job there.
type trellis struct {
	trellisOptions
	nodes []*node.Node
	known []map[*pod]growth.PodUID
	// jobs is what the nodes know about their workers since their last decisions.
	jobs map[growth.PodUID]node.Job
	wake float64
}

func newTrellis(c *cluster, o trellisOptions) *trellis {
	s := &trellis{trellisOptions: o, jobs: map[growth.PodUID]node.Job{}}
	for i := range c.layout.Hosts {
		n := node.New(node.Config{
			Policy:    o.policy,
			Objective: fairfinish.Balanced,
			Interval:  decisions,
			Alpha:     0.05,
			Beta:      2,
		})
		n.Step(date(0), node.CapacityChanged{CPU: growth.MilliCPU(1000 * c.pool(i))})
		s.nodes = append(s.nodes, n)
		s.known = append(s.known, map[*pod]growth.PodUID{})
	}
	return s
}

func date(seconds float64) time.Time {
	return time.Unix(1_700_000_000, 0).Add(growth.Seconds(seconds).Duration())
}

func (s *trellis) step(c *cluster) float64 {
	if s.asSubmitted {
		submitted{points: s.points(c)}.step(c)
	} else {
		admitSmall(c, s.points(c))
	}
	due := c.now >= s.wake
	if due {
		s.wake = (math.Floor(c.now/decisions.Seconds()) + 1) * decisions.Seconds()
	}
	here := make([][]*worker, len(s.nodes))
	for _, r := range c.active {
		for k := range r.pods {
			w := &worker{r, &r.pods[k], uid(r, k)}
			here[w.pod.host] = append(here[w.pod.host], w)
		}
	}
	for i, n := range s.nodes {
		if changed := s.update(n, i, here[i], c.now); changed || due && len(here[i]) > 0 {
			s.decide(c, n, i, here[i])
		}
	}
	return s.wake
}

// worker is a pod with its job.
type worker struct {
	job *running
	pod *pod
	id  growth.PodUID
}

// uid sorts in the order of arrival.
func uid(r *running, worker int) growth.PodUID {
	return growth.PodUID(fmt.Sprintf("%04d-%d", r.index, worker))
}

// update notifies a node of pods that have started and ended, and returns whether there are any.
func (s *trellis) update(n *node.Node, host int, here []*worker, now float64) (changed bool) {
	present := map[*pod]bool{}
	for _, w := range here {
		present[w.pod] = true
		if _, known := s.known[host][w.pod]; known {
			continue
		}
		s.known[host][w.pod] = w.id
		annotations := map[string]string{gpushare.MemoryAnnotation: "1"}
		if s.deadlines && !math.IsInf(w.job.Deadline, 1) {
			annotations[gpushare.DeadlineAnnotation] = date(w.job.due()).UTC().Format(time.RFC3339)
		}
		n.Step(date(now), node.PodUpdated{Pod: node.Pod{
			Ref:         growth.PodRef{Namespace: "sim", Name: string(w.id), UID: w.id},
			Running:     true,
			Started:     date(now),
			Annotations: annotations,
			Containers:  []node.Container{{Name: "train", Request: growth.MilliCPU(1000 * w.pod.request)}},
		}})
		changed = true
	}
	var ended []growth.PodUID
	for p, id := range s.known[host] {
		if !present[p] {
			ended = append(ended, id)
			delete(s.known[host], p)
			delete(s.jobs, id)
		}
	}
	slices.Sort(ended)
	for _, id := range ended {
		n.Step(date(now), node.PodDeleted{Pod: id})
		changed = true
	}
	return changed
}

// decide reports the progress of the workers on a host and follows the node's shares.
func (s *trellis) decide(c *cluster, n *node.Node, host int, here []*worker) {
	if len(here) == 0 {
		return
	}
	at := date(c.now)
	usages := map[growth.PodUID]node.Usage{}
	for _, w := range here {
		n.Step(at, w.report())
		usages[w.id] = node.Usage{
			CPU:         growth.Seconds(w.pod.consumed),
			CPUKnown:    true,
			Queued:      growth.Seconds(w.pod.waited),
			QueuedKnown: true,
		}
	}
	n.Step(at, node.Ticked{Usages: usages})
	for _, job := range n.Jobs() {
		s.jobs[job.Pod.UID] = job
	}
	for _, w := range here {
		c.setWeight(w.pod, c.pool(host)*max(float64(s.jobs[w.id].Share), 1e-4))
	}
}

// report is the worker's part of the job's progress, with its total. It has no metric: only the ends count here.
func (w *worker) report() node.ProgressReported {
	workers := float64(len(w.job.pods))
	return node.ProgressReported{
		Pod:    w.id,
		Source: gpushare.FromSocket,
		Progress: wire.Progress{
			Step:       int64(w.job.done / workers),
			TotalSteps: int64(math.Ceil(w.job.total / workers)),
		},
	}
}
