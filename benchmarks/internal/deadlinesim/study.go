package deadlinesim

import (
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/trellis-gpu/trellis/growth/policy"
)

// Experiment is a cluster with the load that its jobs put on it.
type Experiment struct {
	Layout Layout
	Trace  Trace
	Laws   []Law
	// Load is the need of the jobs, as a part of the CPU that the background leaves in the long run.
	Load float64
}

// System is a way to run the jobs.
type System struct {
	Name string
	new  func(c *cluster, seed uint64) system
}

// The names of the systems that figures refer to. Those of Trellis have goals: with small requests, as its users are advised to
// submit, and with the requests of the baseline.
const (
	Submitted  = "default scheduler"
	Literal    = "Qore-DL, code"
	Even       = "even split"
	Trellis    = "Trellis"
	NoDeadline = "Trellis without deadlines"
	Cases      = "Trellis, qore-dl"
	SameAmount = "Trellis, requests as submitted"
)

// Systems returns all systems. The first one is the baseline.
func Systems() []System {
	fixed := func(s system) func(*cluster, uint64) system { return func(*cluster, uint64) system { return s } }
	qore := func(rules qoreRules) func(*cluster, uint64) system {
		return func(_ *cluster, seed uint64) system { return newQore(rules, seed) }
	}
	ours := func(o trellisOptions) func(*cluster, uint64) system {
		return func(c *cluster, _ uint64) system { return newTrellis(c, o) }
	}
	return []System{
		{Submitted, fixed(submitted{limits: true})},
		{"no limits", fixed(submitted{})},
		{Literal, qore(qoreCode{})},
		{"Qore-DL, paper", qore(qorePaper{})},
		{"Qore-DL, paper, in place", qore(qorePaper{resizes: true})},
		{Even, fixed(even{})},
		{NoDeadline, ours(trellisOptions{policy: policy.Default})},
		{Cases, ours(trellisOptions{policy: policy.QoreDL, deadlines: true})},
		{Trellis, ours(trellisOptions{policy: policy.Default, deadlines: true})},
		{SameAmount, ours(trellisOptions{policy: policy.Default, deadlines: true, asSubmitted: true})},
	}
}

// Few returns the systems that show how the figures depend on the load.
func Few() []System {
	return slices.DeleteFunc(Systems(), func(s System) bool {
		return !slices.Contains([]string{Submitted, Literal, Even, NoDeadline, Cases, Trellis}, s.Name)
	})
}

// references are the systems with which the ends of jobs are compared, besides the baseline. They run before the system itself.
// Against the same system without deadlines one sees what deadlines cost other jobs. The even split is fair sharing, which is the
// bound of harmless on each host.
var references = map[string][]string{
	NoDeadline: {Even},
	Cases:      {NoDeadline, Even},
	Trellis:    {NoDeadline, Even},
}

// The names of the ceilings.
const (
	idealName = "ceiling, one large host and exact sizes"
	aloneName = "ceiling, each job alone"
)

// Outcome is one run of a workload. Times are means over the jobs, in seconds.
type Outcome struct {
	// Met is the part of the deadlines that were met.
	Met float64
	// Weighted is U of Qore-DL, CPU and Memory the use of all hosts, while jobs arrive.
	Weighted, CPU, Memory float64
	// Restarts are the restarts per job.
	Restarts float64
	// Harmed and HarmedFree are the parts of the jobs, with and without a deadline, that end more than 5 % later than under the
	// baseline.
	Harmed, HarmedFree float64
	// Completion is from arrival to end, Wait from arrival to start.
	Completion, Wait float64
	// Against compares the ends of jobs with those under other systems, by their names.
	Against map[string]Delays
}

// Result has the outcomes of one system, by seed.
type Result struct {
	System   string
	Outcomes []Outcome
}

// Run runs the same jobs under all systems. The last two results are ceilings: a relaxation of the whole problem, which has deadlines
// that were met and use, and each job as if it were alone, which only has deadlines.
func Run(e Experiment, systems []System, seeds int) []Result {
	results := make([]Result, len(systems)+2)
	for i, s := range systems {
		results[i] = Result{s.Name, make([]Outcome, seeds)}
	}
	results[len(systems)] = Result{idealName, make([]Outcome, seeds)}
	results[len(systems)+1] = Result{aloneName, make([]Outcome, seeds)}
	var group sync.WaitGroup
	slots := make(chan bool, runtime.GOMAXPROCS(0))
	for seed := range seeds {
		group.Go(func() {
			slots <- true
			defer func() { <-slots }()
			for i, o := range e.run(systems, uint64(seed+1)) {
				results[i].Outcomes[seed] = o
			}
		})
	}
	group.Wait()
	return results
}

// run returns the outcomes of one seed.
func (e Experiment) run(systems []System, seed uint64) []Outcome {
	b := newBackground(e.Layout, e.Trace, seed)
	jobs := Draw(e.Layout, b, e.Laws, e.Load, seed)
	var outcomes []Outcome
	ended := map[string][]*running{}
	for _, s := range systems {
		c := newCluster(e.Layout, b)
		ended[s.Name] = c.run(jobs, s.new(c, seed))
		o := c.outcome(ended[s.Name], ended[systems[0].Name])
		o.Against = map[string]Delays{}
		for _, other := range references[s.Name] {
			if ended[other] != nil {
				o.Against[other] = delays(ended[s.Name], ended[other])
			}
		}
		outcomes = append(outcomes, o)
	}
	return append(outcomes, e.ceilings(b, jobs)...)
}

// ceilings returns the outcomes of the relaxation, and of each job alone.
func (e Experiment) ceilings(b background, jobs []Job) []Outcome {
	ends, used := oracle(newCluster(e.Layout, b), jobs)
	ideal, alone := used.outcome(), Outcome{}
	for i, end := range ends {
		j := jobs[i]
		ideal.Completion += (end - j.Arrival) / float64(len(jobs))
		if math.IsInf(j.Deadline, 1) {
			continue
		}
		count(&ideal.Met, end <= j.due())
		count(&alone.Met, j.Alone() <= j.Deadline)
	}
	_, with := deadlines(jobs)
	ideal.Met /= with
	alone.Met /= with
	return []Outcome{ideal, alone}
}

func count(n *float64, is bool) {
	if is {
		*n++
	}
}

// deadlines returns the number of jobs without and with a deadline.
func deadlines(jobs []Job) (without, with float64) {
	for _, j := range jobs {
		count(&without, math.IsInf(j.Deadline, 1))
	}
	return without, float64(len(jobs)) - without
}

// harm is the relative delay from which a job counts as harmed.
const harm = 0.05

func (c *cluster) outcome(ended, baseline []*running) Outcome {
	o := c.used.outcome()
	with := 0.0
	for i, r := range ended {
		took := r.took(c.now)
		late := took > (1+harm)*baseline[i].took(math.Inf(1))
		o.Completion += took
		if r.startedAt >= 0 {
			o.Wait += r.startedAt - r.Arrival
		} else {
			o.Wait += took
		}
		o.Restarts += float64(r.restarts)
		if math.IsInf(r.Deadline, 1) {
			count(&o.HarmedFree, late)
			continue
		}
		with++
		count(&o.Harmed, late)
		count(&o.Met, r.endedAt >= 0 && r.endedAt <= r.due())
	}
	n := float64(len(ended))
	o.Met, o.Harmed, o.HarmedFree = o.Met/with, o.Harmed/with, o.HarmedFree/max(1, n-with)
	o.Completion, o.Wait, o.Restarts = o.Completion/n, o.Wait/n, o.Restarts/n
	return o
}

// took returns the time from arrival to end, or to some time for a job that has not ended.
func (r *running) took(now float64) float64 {
	if r.endedAt < 0 {
		return now - r.Arrival
	}
	return r.endedAt - r.Arrival
}
