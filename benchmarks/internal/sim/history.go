package sim

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
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

// The histories that are compared.
const (
	NoHistory    History = "no history"
	OfThisNode   History = "one run of each kind on this node"
	OfTheCluster History = "one run of each kind on another node"
)

// poison is a history in which the work and the steps of runs are wrong by a factor: those of a part of the programs, drawn for each job.
type poison struct {
	History
	part, factor float64
}

func poisons() (all []poison) {
	for _, part := range []struct {
		of   float64
		name string
	}{{1, ""}, {0.5, "half of it "}, {0.3, "30 % of it "}, {0.1, "10 % of it "}} {
		for _, by := range []struct {
			factor float64
			name   string
		}{{100, "100 times too large"}, {0.01, "100 times too small"}} {
			all = append(all, poison{History("history of another node, " + part.name + by.name), part.of, by.factor})
		}
	}
	return all
}

// Poisoned lists the poisoned ones.
func Poisoned() (all []History) {
	for _, p := range poisons() {
		all = append(all, p.History)
	}
	return all
}

// HistoryMachines lists machines of one core that differ in their history.
func HistoryMachines() (all []Machine) {
	for _, h := range append([]History{NoHistory, OfThisNode, OfTheCluster}, Poisoned()...) {
		all = append(all, Machine{Cores: 1, Limits: []float64{1}, Recorded: true, History: h})
	}
	return all
}

// remember gives a job what the node knows of earlier runs: one of each kind, with the other recording than the job's.
func (h History) remember(j *Job) {
	switch h {
	case OfThisNode:
		j.Known = ofThisNode()
	case NoHistory:
	default:
		j.Before = throughTheBus(poisoned(earlier(j.Kind, 1-j.Take).run(), h.factor(*j)))
	}
}

// factor returns by how much the history of a job's program is wrong. A job has the same draw in all histories.
func (h History) factor(j Job) float64 {
	draw := rand.New(rand.NewPCG(math.Float64bits(j.Arrival), math.Float64bits(j.Work))).Float64()
	for _, p := range poisons() {
		if p.History == h && draw < p.part {
			return p.factor
		}
	}
	return 1
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
