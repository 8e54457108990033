package sim

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// Job is one training job as it really is. Work is in core-seconds, times are in seconds.
type Job struct {
	Arrival float64
	// Work is the whole of it, Need the part after which the metric is at 95 % of its final value.
	Work, Need float64
	// Limit is the most cores that the job can use at once.
	Limit float64
	// Wrong is what is believed about Work and Need, over the truth.
	Wrong float64
	// Steps and Losses are those of a job whose loss is a recorded one. The node learns its work from its reports, and from
	// jobs of its Kind; Before are runs of such on other nodes. Start is the part of Work before its first step.
	Steps, Start float64
	Losses       []Loss
	Kind         string
	Before       []node.Run
}

// steps are those that it has made.
func (j Job) steps(done float64) float64 { return j.Steps * max(0, done-j.Start) / (j.Work - j.Start) }

// declared is the total of steps that the job reports.
func (j Job) declared() int64 { return int64(math.Round(j.Steps)) }

// numbers are those of its command line.
func (j Job) numbers() []string { return []string{strconv.FormatInt(j.declared(), 10)} }

// run is what a node learns of the whole job.
func (j Job) run() node.Run {
	var curve remaining.Curve
	for _, report := range j.Losses {
		curve.Add(j.steps(report.After*j.Work), report.Value)
	}
	return node.Run{
		Job:     "sim/" + j.Kind,
		Program: j.Kind,
		Curve:   curve,
		Whole: remaining.Profile{
			Numbers:     j.numbers(),
			Total:       float64(j.declared()),
			StartupCost: growth.CoreSeconds(j.Start),
			StepCost:    growth.CoreSeconds((j.Work - j.Start) / j.Steps),
		},
	}
}

// Machine is a node and the kinds of job it gets.
type Machine struct {
	Cores float64 `json:"cores"`
	// Limits are those of its jobs, in cores, all as frequent.
	Limits []float64 `json:"limits"`
	// Recorded says that its jobs' losses are those of real ones.
	Recorded bool `json:"recorded,omitempty"`
	// Again says that one job of each kind has run there before.
	Again bool `json:"again,omitempty"`
}

// Machines are those that are measured. The last but two is a hard one: all of its jobs leave cores idle at the end. So are
// the last two: nobody tells when a loss is good.
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
	// crowd is how much of the machine its jobs could use all together: ten times.
	crowd = 10
	// arrivals is the time in which they come, in seconds.
	arrivals = 200
)

// Jobs is how many there are.
func (m Machine) Jobs() int {
	sum := 0.0
	for _, limit := range m.Limits {
		sum += limit
	}
	return int(crowd*m.Cores*float64(len(m.Limits))/sum + 0.5)
}

// Draw makes the jobs of one seed, in the order of their arrival. Alone on the machine each would take 32 to 312 s, and
// 15 to 50 % of that for 95 % of its metric. What is believed about sizes is wrong by up to errors, a part of the truth;
// the same seed is the same jobs with any errors.
func (m Machine) Draw(seed uint64, errors float64) []Job {
	dice, mistakes := rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 2))
	if m.Recorded {
		return m.drawRecorded(dice, mistakes, errors)
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
