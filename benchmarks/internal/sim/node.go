package sim

import (
	"fmt"
	"math"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/remaining"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// nodePolicy drives the state machine of a real node (growth/node) with the events that the coordinator would send.
type nodePolicy struct {
	node   *node.Node
	gpus   onGPUs
	errors float64
	wake   time.Time
	known  map[int]bool
}

// newNode returns a node with this many cores. Weights change at once and at no cost, so nothing is damped.
func newNode(config node.Config, cores, errors float64) *nodePolicy {
	config.Interval = interval
	config.Alpha, config.Beta = alpha, beta
	p := &nodePolicy{node: node.New(config), errors: errors, known: map[int]bool{}}
	p.node.Step(date(0), node.CapacityChanged{CPU: growth.MilliCPU(1000 * cores)})
	return p
}

// alertNode also decides when a metric reaches its target, if the target is known.
type alertNode struct{ *nodePolicy }

func (alertNode) alert() {}

// Decide steps the node: ended jobs, arrived jobs, reports, and a tick.
func (p *nodePolicy) Decide(now float64, running, ended []*Running) ([]float64, float64) {
	at := date(now)
	for _, r := range ended {
		p.step(at, r.deleted())
	}
	usages := make(map[growth.PodUID]node.Usage, len(running))
	for _, r := range running {
		if !p.known[r.Index] {
			p.known[r.Index] = true
			p.arrive(at, r)
		}
		p.report(at, r)
		if f, ok := p.forecast(r); ok {
			p.node.Step(at, f)
		}
		usages[id(r)] = node.Usage{CPU: growth.Seconds(r.Done - r.Elsewhere), CPUKnown: true}
	}
	uses := gpuUses(running)
	wake := p.step(at, node.Ticked{Usages: usages, GPU: uses}).Wake
	if wake.Equal(p.wake) { // the round has taken no decision: a metric has reached its target
		wake = p.step(at, node.Woken{Usages: usages, GPU: uses}).Wake
	}
	p.wake = wake
	if len(running[0].On) > 0 {
		return nil, wake.Sub(at).Seconds()
	}
	shares := make([]float64, len(running))
	for i, job := range p.node.Jobs() { // in the order of their IDs, which is that of their arrival
		shares[i] = max(float64(job.Share), 1e-6) // a cgroup's weight is never 0
	}
	return shares, wake.Sub(at).Seconds()
}

// turnPlan returns the division of GPUs. Their time is not divided by the shares that Decide returns.
func (p *nodePolicy) turnPlan() node.TurnPlan { return p.gpus.plan }

// step steps the node and follows the division of GPUs.
func (p *nodePolicy) step(at time.Time, e node.Event) node.Effects {
	effects := p.node.Step(at, e)
	p.gpus.follow(effects.Turns)
	return effects
}

func (p *nodePolicy) arrive(at time.Time, r *Running) {
	pod := node.Pod{
		Ref:         growth.PodRef{Namespace: "sim", Name: string(id(r)), UID: id(r)},
		Running:     true,
		Annotations: map[string]string{gpushare.MemoryAnnotation: "1"},
		Containers:  []node.Container{{Name: "train", Request: growth.Core, Limit: growth.MilliCPU(1000 * r.Limit)}},
	}
	if r.Losses != nil {
		pod.Program, pod.Numbers = r.program(), r.numbers()
	}
	if r.Speeds != nil {
		pod.Program = fmt.Sprintf("class %d", r.Class)
	}
	if len(r.On) > 0 {
		p.allocate(at, r)
	}
	if len(r.Known) > 0 && len(p.known) == 1 {
		p.node.Step(at, node.MemoryRestored{Memory: memory(r.Known)})
	}
	p.node.Step(at, node.PodUpdated{Pod: pod})
	if r.Before != nil {
		p.node.Step(at, node.RunsProvided{Pod: id(r), Runs: r.Before})
	}
}

// report sends the progress of a job since the previous call. A job without a recording reports a loss that falls
// exponentially and has made 95 % of its improvement after Need.
func (p *nodePolicy) report(at time.Time, r *Running) {
	step := func(progress wire.Progress) {
		p.node.Step(at, node.ProgressReported{Pod: id(r), Source: gpushare.FromSocket, Progress: progress})
	}
	if r.Losses == nil {
		loss := math.Exp(math.Log(0.05) * r.Done / r.Need)
		step(wire.Progress{Step: int64(1000 * r.Done), Metrics: wire.Metrics{{Name: "loss", Value: loss}}})
		return
	}
	for _, l := range r.heard() {
		step(wire.Progress{
			Step:       int64(r.steps(l.After * r.Work)),
			TotalSteps: r.declared(),
			Metrics:    wire.Metrics{{Name: "loss", Value: l.Value}},
		})
	}
	if made := int64(r.steps(r.Done)); made > 0 {
		step(wire.Progress{Step: made, TotalSteps: r.declared()})
	}
}

// forecast returns the declared sizes of a job, if it declares them. For a recorded job it is the whole work, from its first step on: the
// node predicts the work to its target.
func (p *nodePolicy) forecast(r *Running) (f node.ForecastProvided, ok bool) {
	if r.Unsized || r.Learned {
		return f, false
	}
	done := growth.Work(r.Done)
	left := remaining.FromDeclared(growth.Work(r.Work*r.Wrong), done, p.errors)
	left.Unit = r.unit()
	f = node.ForecastProvided{Pod: id(r), Remaining: &left}
	if r.Losses != nil {
		return f, r.steps(r.Done) >= 1
	}
	need := remaining.Exact(0) // the target is reached, which is observed
	if r.Done < r.Need-dust {
		need = remaining.FromDeclared(growth.Work(r.Need*r.Wrong), done, p.errors)
	}
	need.Unit = r.unit()
	f.ToTarget = &need
	return f, true
}
