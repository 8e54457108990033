package node

import (
	"maps"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/corun"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/interference"
	"github.com/trellis-gpu/trellis/growth/programs"
	"github.com/trellis-gpu/trellis/growth/resize"
)

// Node is the state of one node. It is not safe for concurrent use.
type Node struct {
	config Config
	now    time.Time // time of the current step
	steps  int64     // number of steps so far
	out    Effects   // effects of the current step

	jobs        map[growth.PodUID]*job
	assignments map[growth.PodUID]*assignment
	invalid     map[growth.PodUID]string // the error in a pod's annotations
	unknown     map[growth.PodUID]string // its annotations that Trellis does not know

	allocations []bus.Allocation
	synced      bool // allocations have been complete once
	slots       slots
	ended       map[growth.PodUID]bool
	endedRuns   []Run                // runs of ended jobs, newest first, which predict similar jobs
	published   map[programs.ID]bool // programs whose runs are on the bus

	pastSamples  map[growth.PodUID]bus.Sample     // from an earlier coordinator, for jobs that have not arrived yet
	origins      map[growth.PodUID]bus.Sample     // as in OriginsChanged
	pastRefusals map[growth.PodUID]resize.Refusal // likewise, from an earlier coordinator
	pastYields   map[growth.PodUID]yielded        // likewise
	advice       map[growth.PodUID]bus.Advice
	self         growth.NodeName                              // this node, on the bus
	gangs        map[string]map[growth.NodeName]bus.GangRanks // what other nodes say about jobs on several nodes

	allocatable     growth.MilliCPU                   // 0 while unknown
	accounted       map[growth.PodUID]growth.MilliCPU // requests of all pods of the node
	exclusive       map[growth.PodUID]int             // cores that pods have alone
	gpuMemory       map[growth.PodUID]growth.MiB      // as GPUBusy.Memory, at the last tick
	pool            growth.MilliCPU
	fair            fairfinish.State
	finished        []fairfinish.Job // jobs that have ended since the last decision, if their CPU is known
	gpuFair         fairfinish.State
	gpuFinished     []fairfinish.Job            // likewise, if their work on GPUs is known
	gpusMetered     time.Time                   // time of the last reading
	computes        bool                        // the GPUs of the node compute
	sharedByMPS     bool                        // the jobs of a GPU are clients of one MPS server
	groups          []gpuGroup                  // at the last decision
	stopsDue        time.Time                   // when the orders in force must be repeated; zero if there are none
	speeds          corun.Table                 // measured speeds of jobs that compute at the same time
	model           interference.Model          // predicts speeds that were not measured here
	corunTrial      *corunTrial                 // the present trial; nil if there is none
	trialTime       time.Duration               // lost by trials
	turnTime        time.Duration               // time in which jobs took turns
	probes          map[growth.GPU]probe        // by the first GPU of a group
	clocks          map[growth.GPU]clock        // likewise
	probesDue       time.Time                   // when the present probes end; zero if there are none
	triedAt         map[[2]corun.Kind]time.Time // pairs that could not be measured
	speedsPublished int                         // speeds.Added at the last publication
	turns           TurnPlan                    // as last sent
	stalled         Stalled                     // last reading for the whole node
	stalledAt       time.Time
	pressure        *bus.Pressure

	interval    time.Duration // FlowCon's current decision interval
	due         time.Time     // time of the next decision
	wake        time.Time
	interrupted string // why a decision is needed before due; empty if none is
	rearranged  bool   // the set of jobs has changed since the last decision

	endsEstimated time.Time // when the ends of the jobs were last estimated
}

// New returns a node without jobs.
func New(config Config) *Node {
	return &Node{
		config:       config,
		jobs:         map[growth.PodUID]*job{},
		assignments:  map[growth.PodUID]*assignment{},
		probes:       map[growth.GPU]probe{},
		clocks:       map[growth.GPU]clock{},
		invalid:      map[growth.PodUID]string{},
		unknown:      map[growth.PodUID]string{},
		slots:        slots{owners: map[string]growth.PodUID{}, wanted: map[string]growth.PodUID{}, last: map[string]service{}},
		ended:        map[growth.PodUID]bool{},
		published:    map[programs.ID]bool{},
		pastSamples:  map[growth.PodUID]bus.Sample{},
		pastRefusals: map[growth.PodUID]resize.Refusal{},
		pastYields:   map[growth.PodUID]yielded{},
		advice:       map[growth.PodUID]bus.Advice{},
		accounted:    map[growth.PodUID]growth.MilliCPU{},
		triedAt:      map[[2]corun.Kind]time.Time{},
		model:        interference.Prior(),
		interval:     config.Interval,
	}
}

// Step applies an event and returns the effects that the caller must execute.
func (n *Node) Step(now time.Time, e Event) Effects {
	n.now, n.out = now, Effects{}
	n.speeds.Now = now
	n.steps++
	e.apply(n)
	out := n.out
	out.Wake = n.wakeForStops()
	n.out = Effects{}
	return out
}

// Job is a summary of a running job.
type Job struct {
	Pod      growth.PodRef
	Category growth.Category
	Share    growth.Share
	// Usable is the most CPU that the job can use, as the policy harmless has learned; 0 if it is unknown.
	Usable growth.MilliCPU
	// GPUMemory is what the job has used on each GPU at most; nil if that is unknown.
	GPUMemory *bus.GPUMemory
	// GPU is the job's part of the time of its GPUs; nil where that is not divided. Of the pods of a gang only the one that
	// identifies the job has it.
	GPU *bus.GPUTime
}

// Jobs returns the running jobs, in the order of their UIDs.
func (n *Node) Jobs() []Job {
	jobs := make([]Job, 0, len(n.jobs))
	for _, j := range n.sorted() {
		summary := Job{Pod: j.pod.Ref, Category: j.category, Share: j.share, GPUMemory: j.gpuMemoryPeak()}
		summary.Usable = n.usable(fairfinish.Job{ID: j.pod.Ref.UID})
		if j.identity() == j {
			summary.GPU = n.gpuSample(j)
		}
		jobs = append(jobs, summary)
	}
	return jobs
}

// sorted returns the jobs in the order of their UIDs.
func (n *Node) sorted() []*job {
	jobs := make([]*job, 0, len(n.jobs))
	for _, uid := range slices.Sorted(maps.Keys(n.jobs)) {
		jobs = append(jobs, n.jobs[uid])
	}
	return jobs
}

// interrupt requests a decision after Damping.Settle. rearranged reports a change of the set of jobs.
func (n *Node) interrupt(why string, rearranged bool) {
	if n.interrupted == "" {
		n.wake = n.now.Add(n.config.Damping.Settle)
	}
	n.interrupted = why
	n.rearranged = n.rearranged || rearranged
}
