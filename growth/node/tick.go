package node

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/efficiency"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/loader"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// apply runs one round: observe, classify, decide if a decision is due, reconcile, publish.
func (e Ticked) apply(n *Node) {
	n.formGangs()
	n.meterGPUs(e.GPU, e.Busy)
	for _, j := range n.gpuJobs() {
		j.summariseUse()
	}
	n.gpuMemory = e.Busy.Memory
	for _, j := range n.sorted() {
		n.observe(j, e.Usages)
		n.classify(j)
		n.announceArrival(j, false)
		n.summariseShare(j)
		if !n.dividesGPUs() && n.now.Sub(j.arrived) > silentAfter*n.config.Interval {
			n.announceCores(j, "the time of this node's GPUs is not divided by turns (--gpu-time of the coordinator)")
		}
	}
	n.followLeads()
	n.followPauses()
	n.measureSpeeds()
	n.measureCosts()
	n.measureTraining(e.Usages)
	n.observeNode(e.Stalled)
	n.summariseGPUTime()
	n.syncSlots()
	n.endYields()
	if n.interrupted != "" || !n.now.Before(n.due.Add(-n.config.Damping.Settle)) { // ticks are not exactly an interval apart
		n.decide()
	} else {
		n.endProbes()
		n.reconcile()
	}
	n.annotateGPUShares()
	n.estimateEnds()
	n.followDeadlines()
	for _, j := range n.sorted() {
		n.tuneMemory(j)
		n.reportResources(j)
		n.reportWidth(j)
	}
	n.publishAll()
}

func (e Woken) apply(n *Node) {
	for _, uid := range slices.Sorted(maps.Keys(e.Usages)) {
		if j, usage := n.jobs[uid], e.Usages[uid]; j != nil && usage.CPUKnown {
			j.meter(usage)
		}
	}
	n.meterGPUs(e.GPU, e.Busy)
	n.measureSpeeds()
	n.followPauses()
	if n.interrupted == "" && n.now.Before(n.due) {
		n.endProbes()
	} else {
		n.decide()
	}
	n.publishAll()
}

func (n *Node) observe(j *job, usages map[growth.PodUID]Usage) {
	observed := n.observation(j)
	j.rates = j.window.close(n.now, j.rates)
	n.tryBatchSize(j, observed)
	if usage, ok := usages[j.pod.Ref.UID]; ok {
		j.observe(usage, n.now)
	}
	n.observeUse(j)
	n.observeBatch(j, observed)
}

// measureCosts updates the step costs of all jobs from the interval that has ended.
func (n *Node) measureCosts() {
	for _, j := range n.sorted() {
		if j.usage.CPUKnown && j.usedAt.Equal(n.now) {
			j.cost.add(j.counter.steps, j.usage.CPU)
		}
		if n.dividesGPUs() && j.identity() == j {
			j.measureGPUCost()
		}
		if j.costIn(n.unit()).unmeasured() {
			n.assumeCost(j)
		}
	}
}

func (n *Node) classify(j *job) {
	used, known := n.workDone(j)
	j.reading = j.tracker.Tick(n.now, efficiency.Usage{
		Work:      used,
		Known:     known,
		Memory:    j.usage.Memory,
		BlockIO:   j.usage.BlockIO,
		NetworkIO: j.usage.NetworkIO,
	})
	n.log(Debug, "classified", "job", j.pod.Ref, "growth", float64(j.reading.Growth), "category", j.reading.Category,
		"samples", j.reading.Samples, "reason", j.reading.Reason)
	if j.follows() {
		return
	}
	if n.config.Policy != policy.FlowConLiteral { // flowcon-literal has its own categories
		n.categorise(j, j.reading.Category, j.reading.Reason)
	}
}

// categorise sets a job's category. A change is logged, annotated and recorded as an event.
func (n *Node) categorise(j *job, category growth.Category, reason string) {
	if category == j.category {
		return
	}
	from, lead := j.category, j.leader()
	j.category = category
	n.log(Info, "category changed", "job", j.pod.Ref, "from", from, "to", category, "growth", float64(j.reading.Growth),
		"metric", j.spec.Metric, "value", lead.value, "step", lead.latest.Step, "reason", reason)
	n.annotate(j.pod.Ref, gpushare.CategoryAnnotation, string(category))
	n.event(j, time.Second, false, "CategoryChanged",
		fmt.Sprintf("%s → %s: %s (%s at step %d)", from, category, reason, lead.valueText(), lead.latest.Step))
	n.interrupt("category", false)
}

func (n *Node) observeNode(stalled Stalled) {
	if !n.stalledAt.IsZero() {
		n.pressure = pressureBetween(n.stalled, stalled, n.now.Sub(n.stalledAt).Seconds())
	}
	n.stalled, n.stalledAt = stalled, n.now
}

// publishAll publishes all samples and the load, and requests that Memory is saved. A node without jobs has saved it
// when the last job left.
func (n *Node) publishAll() {
	for _, j := range n.sorted() {
		n.publish(j, false)
	}
	n.publishLoad()
	n.publishSpeeds()
	n.out.Newcomers = n.newcomers()
	if len(n.jobs) > 0 {
		n.out.Persist = true
	}
}

func (n *Node) publishLoad() {
	if n.allocatable == 0 {
		return // LoaderBudget is unknown
	}
	var used growth.MilliCPU
	for _, j := range n.jobs {
		used += j.used
	}
	n.out.Load = &bus.NodeLoad{
		CPUPool:      n.pool,
		CPUUsed:      used,
		CPUCapacity:  n.capacity(),
		Pressure:     n.pressure,
		LoaderBudget: loader.Budget(n.allocatable-n.exclusiveCPU(), n.trainingCores()),
		Policy:       string(n.config.Policy),
	}
}
