package sim

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/programs"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// History is what a machine knows of earlier runs when its jobs arrive. The jobs declare their steps, and no sizes: the node
// predicts them from what it measures and from those runs.
type History string

// The histories that are compared. A poisoned one has runs whose work and steps are 100 times too large or too small: those of all
// kinds, or those of every other kind next to true ones.
const (
	NoHistory     History = "no history"
	OfThisNode    History = "one run of each kind on this node"
	OfTheCluster  History = "one run of each kind on another node"
	PoisonedLarge History = "history of another node, 100 times too large"
	PoisonedSmall History = "history of another node, 100 times too small"
	PartlyLarge   History = "history of another node, half of it 100 times too large"
	PartlySmall   History = "history of another node, half of it 100 times too small"
)

// Poisoned lists the poisoned ones.
func Poisoned() []History { return []History{PoisonedLarge, PoisonedSmall, PartlyLarge, PartlySmall} }

// HistoryMachines lists machines of one core that differ in their history.
func HistoryMachines() (all []Machine) {
	for _, h := range append([]History{NoHistory, OfThisNode, OfTheCluster}, Poisoned()...) {
		all = append(all, Machine{Cores: 1, Limits: []float64{1}, Recorded: true, History: h})
	}
	return all
}

// remember gives a job what the node knows of earlier runs: one of each kind, with the other recording than the job's.
func (h History) remember(j *Job) {
	factor := 1.0
	half := slices.Index(workload.FlowConKinds(), j.Kind)%2 == 0
	switch {
	case h == OfThisNode:
		j.Known = ofThisNode()
		return
	case h == NoHistory:
		return
	case h == PoisonedLarge, h == PartlyLarge && half:
		factor = 100
	case h == PoisonedSmall, h == PartlySmall && half:
		factor = 0.01
	}
	j.Before = throughTheBus(poisoned(earlier(j.Kind, 1-j.Take).run(), factor))
}

// poisoned returns a run whose work and steps are too large by a factor.
func poisoned(r programs.Run, factor float64) programs.Run {
	r.Whole.StartupCost *= growth.Work(factor)
	r.Whole.StepCost *= growth.Work(factor)
	for i := range r.Points {
		r.Points[i][0] *= factor
	}
	return r
}

// throughTheBus returns a run as another node receives it: published, merged by the tuner, and read.
func throughTheBus(r programs.Run) []programs.Run {
	var record bus.ProgramModel
	record.Merge(programs.IDOf("sim", r.Job), r.Node, []programs.Run{r}, time.Unix(0, 0))
	value, err := bus.Encode(record)
	if err != nil {
		panic(err) // a valid run
	}
	read, err := bus.Decode[bus.ProgramModel](value)
	if err != nil {
		panic(err) // written by this build
	}
	return read.Usable()
}

// ofThisNode returns the runs that a node remembers which has run one job of each program.
func ofThisNode() (all []node.Run) {
	spec := gpushare.Spec{Metric: "loss", Direction: growth.Minimize}
	for _, kind := range workload.FlowConKinds() {
		for take := range 2 {
			before := earlier(kind, 1-take)
			run := before.run()
			program := Job{Kind: kind, Take: take, Learned: true}.program()
			all = append(all, node.Run{Job: run.Job, Program: spec.Similar(program), Pod: run.Pod, Curve: before.curve(), Whole: run.Whole})
		}
	}
	return all
}

// memory returns the memory of a node that has seen these runs.
func memory(runs []node.Run) node.Memory {
	encoded, err := json.Marshal(runs)
	if err != nil {
		panic(err) // finite numbers
	}
	state, at, err := node.LegacyMemory(nil, nil, encoded)
	if err != nil {
		panic(err) // as encoded above
	}
	return node.Memory{State: state, At: at}
}

// curve returns the loss over the steps.
func (j Job) curve() (curve remaining.Curve) {
	for _, report := range j.Losses {
		curve.Add(j.steps(report.After*j.Work), report.Value)
	}
	return curve
}

// historyLoss is how much less a history of the cluster may gain than one of the node, in points.
const historyLoss = 3

// historyDelay is how much later a poisoned history may end a job than none, in seconds: an interval between two decisions.
const historyDelay = 10

// HistoryGoals compares the histories of a study: that of the cluster with that of the node, and poisoned ones with none.
func HistoryGoals(cells []Cell) (goals []results.Goal) {
	by := map[History]Cell{}
	for _, c := range cells {
		by[c.Machine.History] = c
		name := fmt.Sprintf("%s, %s: %s", c.Where(), c.Policy, latest)
		goals = append(goals, results.Goal{Name: name, Unit: "s", Value: c.Latest, Low: c.Latest, High: c.Latest})
	}
	less := func(name string, a, b float64, unit string, most float64) {
		value := a - b
		met := value <= most
		goals = append(goals, results.Goal{Name: name, Unit: unit, Value: value, Low: value, High: value, Target: &most, Met: &met})
	}
	node, cluster, none := by[OfThisNode], by[OfTheCluster], by[NoHistory]
	less("another node's history less this node's: "+completed, cluster.Completion.Value, node.Completion.Value, "points", historyLoss)
	less("another node's history less this node's: "+good, cluster.Good.Value, node.Good.Value, "points", historyLoss)
	for _, h := range Poisoned() {
		less(string(h)+" less none: "+harmed, by[h].Harmed.Value, none.Harmed.Value, "% of jobs", 0)
		less(string(h)+" less none: "+latest, by[h].Latest, none.Latest, "s", historyDelay)
	}
	return goals
}
