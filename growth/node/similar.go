package node

import (
	"cmp"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/programs"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

const (
	// maxRuns bounds the remembered runs of ended jobs, maxRunsPerProgram those of one program. That is enough for four
	// runs of each of 16 programs, or one run of each of 64.
	maxRuns, maxRunsPerProgram = 64, 4
	// assumedPart is the weight of another job's step cost, as a fraction of all steps. With a quarter, which holds longer against the
	// expensive first steps of a job, the intervals of predicted ends become too wide.
	assumedPart = 0.1
)

// Run is what is known about the work of one job. It predicts similar jobs: those with the same program and metric.
type Run struct {
	// Job is the pod's namespace and name. Program identifies similar jobs: Pod.Program, the metric and its direction.
	Job     string            `json:"job"`
	Program string            `json:"runs"`
	Curve   remaining.Curve   `json:"curve"`
	Whole   remaining.Profile `json:"whole,omitzero"`
	// ID identifies the program on all nodes, Pod the run. Ended is set for a job that has ended. Runs from earlier releases
	// have none of these, and stay on this node.
	ID    programs.ID   `json:"program,omitzero"`
	Pod   growth.PodUID `json:"pod,omitempty"`
	Ended time.Time     `json:"ended,omitzero"`

	remote bool            // of another node
	node   growth.NodeName // likewise
}

// program returns the key that similar jobs share. It is empty if the pod's program is unknown.
func (j *job) program() string { return j.spec.Similar(j.pod.Program) }

// run returns the job's run so far, with its work in a unit.
func (j *job) run(unit growth.Unit) Run {
	cost := j.costIn(unit)
	perStep, _ := cost.perStep()
	return Run{
		Job:     j.pod.Ref.String(),
		Program: j.program(),
		ID:      j.programID(),
		Pod:     j.pod.Ref.UID,
		Curve:   j.curve,
		Whole: remaining.Profile{
			Numbers:     j.pod.Numbers,
			Total:       float64(j.latest.TotalSteps),
			StartupCost: cost.start(),
			StepCost:    perStep,
			Unit:        unit,
		},
	}
}

// rememberRun keeps the run of a job that has ended. If there are too many runs, it drops the oldest run of the program
// with the most runs. A run that was cut short is kept if the size of the whole is known.
func (n *Node) rememberRun(j *job) {
	run := j.run(n.unit())
	run.Whole.StepCost = j.costIn(n.unit()).overall()
	run.Ended = n.now
	if run.Program == "" || len(run.Curve.Points) == 0 || j.cutShort && run.Whole.Total == 0 {
		return
	}
	defer n.shareRuns(run.ID)
	n.endedRuns = slices.Insert(n.endedRuns, 0, run)
	runs, most := map[string]int{}, 0
	for _, r := range n.endedRuns {
		runs[r.Program]++
		most = max(most, runs[r.Program])
	}
	if most <= maxRunsPerProgram && len(n.endedRuns) <= maxRuns {
		return
	}
	for i, r := range slices.Backward(n.endedRuns) {
		if runs[r.Program] == most {
			n.endedRuns = slices.Delete(n.endedRuns, i, i+1)
			return
		}
	}
}

// similar returns the runs of similar jobs: those of ended jobs, newest first, then those of running jobs, then those of
// other nodes.
func (n *Node) similar(j *job) (runs []Run) {
	program := j.program()
	if program == "" {
		return runs
	}
	for _, r := range n.endedRuns {
		if r.Program == program {
			runs = append(runs, r)
		}
	}
	for _, other := range n.sorted() {
		if other != j && other.leader() != j.leader() && other.program() == program {
			runs = append(runs, other.run(n.unit()))
		}
	}
	return append(runs, n.fromCluster(j)...)
}

// assumeCost gives a job without a measured step cost the cost of a similar job, preferably of one with equal numbers.
func (n *Node) assumeCost(j *job) {
	var from Run
	for _, r := range n.similar(j) {
		same := slices.Equal(r.Whole.Numbers, j.pod.Numbers)
		if r.Whole.Unit == n.unit() && r.Whole.StepCost > 0 && (same || from.Whole.StepCost == 0) {
			from = r
			if same {
				break
			}
		}
	}
	total := cmp.Or(float64(j.latest.TotalSteps), from.Whole.Total)
	j.costIn(n.unit()).assume(from.Whole.StepCost, assumedPart*total, from.remote)
}

// progress returns a job's progress and its remaining work. Without a measured step cost it uses the profile of a
// similar job, preferably of one with equal numbers, and returns the run with it.
func (n *Node) progress(j *job, similar []Run) (p remaining.Progress, left remaining.Estimate, profile []Run) {
	unit := n.unit()
	cost := j.costIn(unit)
	p = remaining.Progress{Done: float64(j.counter.steps), Total: float64(j.latest.TotalSteps), Unit: unit}
	if p.StepCost, _ = cost.perStep(); p.StepCost > 0 {
		left = cost.remaining(j.counter.steps, j.latest.TotalSteps, unit)
		if !left.Known {
			left = j.curve.RemainingWork(j.spec.Direction, p)
		}
		return p, left, nil
	}
	own := p
	for _, r := range similar {
		same := slices.Equal(r.Whole.Numbers, j.pod.Numbers)
		if r.Whole.Unit != unit || left.Known && !same {
			continue
		}
		q, predicted := r.Whole.Predict(own, j.pod.Numbers, j.workIn(unit))
		if !predicted.Known {
			continue
		}
		p, left, profile = q, predicted, []Run{r}
		if same {
			break
		}
	}
	return p, left, profile
}
