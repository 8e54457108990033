package sim

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/programs"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// Job is one training job with its true sizes. Work is in core-seconds, or in GPU-seconds for a job on GPUs. Times are in
// seconds.
type Job struct {
	Arrival float64
	// Work is the total work. Need is the work until the metric has made 95 % of its improvement.
	Work, Need float64
	// Limit is the largest number of cores or GPUs that the job can use at once. That of a job on GPUs is smaller than their
	// number if it waits for data.
	Limit float64
	// On lists the GPUs of the job; empty on a machine without.
	On []growth.GPU
	// Speeds are the speeds of jobs that compute at the same time, by their Class.
	Speeds Speeds
	Class  int
	// Wrong is the ratio of declared to true sizes.
	Wrong float64
	// Unsized is set for a job that declares no size: the node predicts it from the job's metric.
	Unsized bool
	// Steps and Losses belong to a job with a recorded loss. The node learns its work from its reports and from jobs
	// of its Kind; Before are runs of such jobs on other nodes. Start is the part of Work before its first step.
	Steps, Start float64
	Losses       []Loss
	Kind         string
	Before       []programs.Run
	// Known are runs of all kinds on this node. Learned is set for a job that declares its steps and no size, and has no
	// program in common with jobs of the same kind: only the runs of History predict it. Take is its recording.
	Known   []node.Run
	Learned bool
	Take    int
}

// steps returns the number of steps made after some work.
func (j Job) steps(done float64) float64 { return j.Steps * max(0, done-j.Start) / (j.Work - j.Start) }

// declared returns the total of steps that the job reports.
func (j Job) declared() int64 {
	if j.Unsized {
		return 0
	}
	return int64(math.Round(j.Steps))
}

// program returns the name of the job's program.
func (j Job) program() string {
	if j.Learned {
		return fmt.Sprintf("%s %d", j.Kind, j.Take)
	}
	return j.Kind
}

// numbers returns the numbers of its command line.
func (j Job) numbers() []string {
	if j.Unsized {
		return nil
	}
	return []string{strconv.FormatInt(j.declared(), 10)}
}

// run returns the record of the whole job as another node publishes it.
func (j Job) run() programs.Run {
	return programs.Run{
		Pod:  growth.PodUID("before-" + j.Kind),
		Job:  "sim/" + j.Kind,
		Node: "other",
		Whole: remaining.Profile{
			Numbers:     j.numbers(),
			Total:       float64(j.declared()),
			StartupCost: growth.Work(j.Start),
			StepCost:    growth.Work((j.Work - j.Start) / j.Steps),
		},
	}.WithCurve(j.curve())
}

// Machine is a node and the kinds of job it gets.
type Machine struct {
	Cores float64 `json:"cores"`
	// Limits are the limits of its jobs, in cores, all equally frequent.
	Limits []float64 `json:"limits"`
	// GPUs is the number of GPUs whose time is divided; 0 on a machine whose cores are. Widths are the numbers of GPUs of its
	// jobs, all equally frequent.
	GPUs   int   `json:"gpus,omitempty"`
	Widths []int `json:"widths,omitempty"`
	// Speeds are the speeds of jobs that compute on one GPU at the same time; all classes of jobs are equally frequent.
	// Without it, they compute one after the other at any time (time slicing).
	Speeds Speeds `json:"speeds,omitempty"`
	// Recorded means that its jobs report recorded losses.
	Recorded bool `json:"recorded,omitempty"`
	// Again means that one job of each kind has run before.
	Again bool `json:"again,omitempty"`
	// History is what is known of earlier runs, in a study of that.
	History History `json:"history,omitempty"`
	// Unsized is the part of its jobs that declare no size.
	Unsized float64 `json:"unsized,omitempty"`
	// Listed are the jobs of a workload; empty on a machine whose jobs are drawn.
	Listed []Job `json:"-"`
}

// WithUnsized returns machines on which a part of the jobs declare no size.
func WithUnsized(machines []Machine, part float64) []Machine {
	all := slices.Clone(machines)
	for i := range all {
		all[i].Unsized = part
	}
	return all
}

// Machines lists the measured machines. The third from the end is hard: all of its jobs leave cores idle at the end.
// On the last two the node must predict when a loss reaches its target.
func Machines() []Machine {
	return []Machine{
		{Cores: 1, Limits: []float64{1}},
		{Cores: 2, Limits: []float64{1, 2}},
		{Cores: 8, Limits: []float64{1, 2, 4, 8}},
		{Cores: 64, Limits: []float64{4, 16, 64}},
		{Cores: 2, Limits: []float64{1}},
		{Cores: 1, Limits: []float64{1}, Recorded: true},
		{Cores: 1, Limits: []float64{1}, Recorded: true, Again: true},
	}
}

const (
	// crowd is the demand of all jobs relative to the machine.
	crowd = 10
	// arrivals is the time in which jobs arrive, in seconds.
	arrivals = 200
)

// Jobs returns the number of jobs.
func (m Machine) Jobs() int {
	if len(m.Listed) > 0 {
		return len(m.Listed)
	}
	if m.GPUs > 0 {
		return m.jobsOnGPUs()
	}
	sum := 0.0
	for _, limit := range m.Limits {
		sum += limit
	}
	return int(crowd*m.Cores*float64(len(m.Limits))/sum + 0.5)
}

// Draw returns the jobs of one seed, in the order of their arrival. Alone on the machine each would take 32 to 312 s,
// and 15 to 50 % of that for 95 % of its improvement. Declared sizes are wrong by up to errors, relative to the
// truth; a seed draws the same jobs for all errors.
func (m Machine) Draw(seed uint64, errors float64) []Job {
	dice, mistakes := rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 2))
	jobs := m.draw(dice, mistakes, errors)
	sizes := rand.New(rand.NewPCG(seed, 3))
	for i := range jobs {
		jobs[i].Unsized = sizes.Float64() < m.Unsized
	}
	return jobs
}

func (m Machine) draw(dice, mistakes *rand.Rand, errors float64) []Job {
	if len(m.Listed) > 0 {
		return m.drawListed(dice, mistakes, errors)
	}
	if m.Recorded {
		return m.drawRecorded(dice, mistakes, errors)
	}
	if m.GPUs > 0 {
		return m.drawOnGPUs(dice, mistakes, errors)
	}
	jobs := make([]Job, m.Jobs())
	for i := range jobs {
		j := Job{Arrival: arrivals * dice.Float64(), Limit: m.Limits[dice.IntN(len(m.Limits))]}
		j.Work = j.Limit * (32 + 280*dice.Float64())
		j.Need = j.Work * (0.15 + 0.35*dice.Float64())
		j.Wrong = 1 + errors*(2*mistakes.Float64()-1)
		jobs[i] = j
	}
	slices.SortFunc(jobs, func(a, b Job) int { return cmp.Compare(a.Arrival, b.Arrival) })
	return jobs
}
