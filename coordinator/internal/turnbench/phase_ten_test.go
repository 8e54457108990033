package turnbench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/node"
)

// planned is a job of the schedule.
type planned struct {
	name, kind string
	arrival    time.Duration
	steps      int
}

// Kinds with the steps that take about a quarter of a minute each on one core, and at most three quarters on an H100.
var lengths = []struct {
	kind           string
	emulated, cuda int
}{
	{"vae", 1450, 600}, {"cnn", 1850, 1300}, {"rnn", 2150, 850}, {"gru", 2000, 800}, {"birnn", 2050, 850}, {"lstm", 1850, 850},
}

// schedule returns ten jobs that arrive within 50 s, with 0.5 to 1.5 times the usual length. It is the same in all repeats.
func (b *bench) schedule() []planned {
	random := rand.New(rand.NewPCG(2, 0))
	length := *lengthArg
	count, part, spread := 10, length, 50*time.Second
	if *quickRun {
		count, part, spread = 4, .15*length, 5*time.Second
	}
	var jobs []planned
	for i := range count {
		l := lengths[i%len(lengths)]
		steps := map[string]int{"emulated": l.emulated, "cuda": l.cuda}[b.device]
		arrival := time.Duration(random.Int64N(int64(spread)))
		jobs = append(jobs, planned{fmt.Sprintf("job-%d", i+1), l.kind, arrival, int(part * (.5 + random.Float64()) * float64(steps))})
	}
	slices.SortFunc(jobs, func(a, b planned) int { return int(a.arrival - b.arrival) })
	for i := range jobs {
		jobs[i].arrival -= jobs[0].arrival
	}
	jobs[0].arrival = 0
	return jobs
}

// outcome has the times of a job, from its arrival. target is 0 for a job with too few losses.
type outcome struct{ completion, target float64 }

// round is one run of the schedule.
type round struct {
	jobs     map[string]outcome
	demands  []demand // without their work
	makespan float64
}

// ten plays the schedule under plain sharing, and under harmless on a node that has seen no job and on one that has seen the
// jobs of the repeat before.
func ten(b *bench) {
	jobs := b.schedule()
	_, history := b.play(harmless, jobs, 0, node.Memory{}) // seen by the first repeat
	changes := map[string]map[string][]float64{"": {}, ", nothing seen before": {}, ceilingSuffix: {}}
	for repeat := 1; repeat <= b.repeats(); repeat++ {
		var base, informed, fresh round
		var next node.Memory
		runs := []func(){
			func() { base, _ = b.play(plain, jobs, repeat, node.Memory{}) },
			func() { informed, next = b.play(harmless, jobs, repeat, history) },
			func() { fresh, _ = b.play(harmless, jobs, repeat, node.Memory{}) },
		}
		if repeat%2 == 0 {
			slices.Reverse(runs)
		}
		for _, run := range runs {
			run()
		}
		history = next
		for name, of := range map[string]map[string]float64{
			"":                      against(informed, base),
			", nothing seen before": against(fresh, base),
			ceilingSuffix:           ceiling(base.demands),
		} {
			for figure, value := range of {
				changes[name][figure] = append(changes[name][figure], value)
			}
		}
	}
	b.tenGoals("", changes[""], map[string]float64{
		"mean completion": -32, "mean time to 95 %": -25, "best job": -80, "worst job": 5, "makespan": 1,
	})
	b.tenGoals(", nothing seen before", changes[", nothing seen before"], map[string]float64{
		"mean completion": -28, "mean time to 95 %": -12,
	})
	delete(changes[ceilingSuffix], "worst job")
	delete(changes[ceilingSuffix], "makespan")
	b.tenGoals(ceilingSuffix, changes[ceilingSuffix], nil)
}

// ceilingSuffix names the figures of shortestFirst. They have no bound on harm, so their worst job says nothing.
const ceilingSuffix = ", shortest first with exact sizes"

// tenFigures are the figures of ten, in the order of the report.
var tenFigures = []string{"mean completion", "mean time to 95 %", "best job", "worst job", "makespan"}

func (b *bench) tenGoals(suffix string, changes map[string][]float64, targets map[string]float64) {
	for _, figure := range tenFigures {
		if len(changes[figure]) == 0 {
			continue
		}
		g := b.figure("ten jobs"+suffix+", "+figure, "%", changes[figure]...)
		if target, ok := targets[figure]; ok {
			g.atMost(target)
		}
	}
}

// play runs the schedule once. Jobs of another repeat have other seeds.
func (b *bench) play(v variant, jobs []planned, repeat int, history node.Memory) (round, node.Memory) {
	b.progress("    repeat %d: %s, on a node that has seen %s", repeat, v.name, seen(history))
	m := b.newMachine()
	m.memory = history
	m.start(v)
	began := time.Now()
	started := map[string]*job{}
	for i, p := range jobs {
		time.Sleep(time.Until(began.Add(p.arrival)))
		started[p.name] = m.launch(p.name, "run.py", b.train(p.kind, p.steps, 100*repeat+i+1, "--learning-rate", "0.003")...)
	}
	r := round{jobs: map[string]outcome{}}
	start := now() - time.Since(began)
	for name, j := range started {
		j.wait(b)
		r.jobs[name] = outcome{completion: (j.ended - j.started).Seconds(), target: j.target().Seconds()}
		r.demands = append(r.demands, j.demand(b, start))
	}
	r.makespan = time.Since(began).Seconds()
	time.Sleep(time.Second) // the memory is saved
	m.close()
	if repeat == b.repeats() {
		records := map[string][]step{}
		for name, j := range started {
			records[name] = j.steps(b)
		}
		b.chart.add(v.name+", on a node that has seen "+seen(history), window{}, records)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return r, m.memory
}

// demand returns what the job needed, in a round that began at a time of the records' clock.
func (j *job) demand(b *bench, start time.Duration) demand {
	steps := j.steps(b)
	require.NotEmpty(b.t, steps, j.name)
	return demand{
		name:    j.name,
		arrival: (j.started - start).Seconds(),
		ready:   (steps[0].begin - start).Seconds(),
		last:    (steps[len(steps)-1].end - start).Seconds(),
		ended:   (j.ended - start).Seconds(),
	}
}

func seen(history node.Memory) string {
	if history.State == nil {
		return "nothing"
	}
	return "such jobs"
}

// target returns the time from the job's start until its loss had made 95 % of its improvement; 0 if it printed too few.
func (j *job) target() time.Duration {
	const near, final = 5, 10
	if len(j.losses) < 2*final {
		return 0
	}
	median := func(losses []loss) float64 {
		var values []float64
		for _, l := range losses {
			values = append(values, l.value)
		}
		slices.Sort(values)
		return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
	}
	first, last := j.losses[0].value, median(j.losses[len(j.losses)-final:])
	for i, l := range j.losses {
		if (first-median(j.losses[i:min(i+near, len(j.losses))]))/(first-last) >= .95 {
			return l.at - j.started
		}
	}
	return 0
}

// against returns the changes of a round relative to another, in per cent.
func against(r, base round) map[string]float64 {
	percent := func(ours, theirs float64) float64 { return 100 * (ours - theirs) / theirs }
	var ours, theirs, oursTarget, theirsTarget float64
	best, worst := math.Inf(1), math.Inf(-1)
	for name, j := range r.jobs {
		other := base.jobs[name]
		ours, theirs = ours+j.completion, theirs+other.completion
		best = min(best, percent(j.completion, other.completion))
		worst = max(worst, percent(j.completion, other.completion))
		if j.target > 0 && other.target > 0 {
			oursTarget, theirsTarget = oursTarget+j.target, theirsTarget+other.target
		}
	}
	changes := map[string]float64{
		"mean completion": percent(ours, theirs),
		"best job":        best,
		"worst job":       worst,
		"makespan":        percent(r.makespan, base.makespan),
	}
	if theirsTarget > 0 {
		changes["mean time to 95 %"] = percent(oursTarget, theirsTarget)
	}
	return changes
}
