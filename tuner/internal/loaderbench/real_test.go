package loaderbench

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/bus/membus"
	"github.com/trellis-gpu/trellis/growth/loader"

	"github.com/trellis-gpu/trellis/tuner/internal/advise"
	"github.com/trellis-gpu/trellis/tuner/internal/history"
)

// realMix is some jobs on this machine.
type realMix struct {
	name   string
	budget int
	jobs   []realJob
	// goal is the gain over the even split that the mix allows at least, in per cent; 0 if it allows none.
	goal float64
}

var realMixes = []realMix{
	{
		name: "storage", budget: 6, goal: 29,
		jobs: []realJob{
			{name: "fast", batch: 8, step: 50 * time.Millisecond, args: []string{"--storage", "0.022"}},
			{name: "light", batch: 8, step: 200 * time.Millisecond, args: []string{"--storage", "0.007"}},
			{name: "slow", batch: 8, step: 200 * time.Millisecond, args: []string{"--storage", "0.01"}},
		},
	},
	{
		name: "decode", budget: 2, goal: 29,
		jobs: []realJob{
			{name: "heavy", batch: 8, step: 50 * time.Millisecond, args: []string{"--crops", "10"}},
			{name: "light", batch: 8, step: 200 * time.Millisecond},
		},
	},
	{
		name: "equal", budget: 6,
		jobs: []realJob{
			{name: "one", batch: 8, step: 100 * time.Millisecond, args: []string{"--storage", "0.025"}},
			{name: "two", batch: 8, step: 100 * time.Millisecond, args: []string{"--storage", "0.025"}},
			{name: "three", batch: 8, step: 100 * time.Millisecond, args: []string{"--storage", "0.025"}},
		},
	},
}

// times are the lengths of the parts of a run.
type times struct {
	settle, measure, interval, learn, dwell time.Duration
	repeats                                 int
}

func (b *bench) times() times {
	if *quickRun {
		return times{
			settle:   time.Second,
			measure:  time.Second,
			interval: time.Second,
			learn:    10 * time.Second,
			dwell:    3 * time.Second,
			repeats:  1,
		}
	}
	return times{
		settle:   1500 * time.Millisecond,
		measure:  2500 * time.Millisecond,
		interval: 3 * time.Second,
		learn:    66 * time.Second,
		dwell:    loader.DefaultChangePolicy().Dwell,
		repeats:  4,
	}
}

// running is a mix whose jobs run.
type running struct {
	realMix
	b    *bench
	jobs []*agent
}

func (b *bench) run(m realMix) *running {
	r := &running{realMix: m, b: b}
	for i, j := range m.jobs {
		j.name = m.name + "-" + j.name
		r.jobs = append(r.jobs, b.launch(j, m.even()[i]))
	}
	r.await()
	return r
}

func (r *running) end() {
	for _, j := range r.jobs {
		j.kill()
	}
}

func (m realMix) even() []int {
	apps := make([]application, len(m.jobs))
	for i := range apps {
		apps[i].devices = 1
	}
	return evenSplit(apps, m.budget)
}

// await waits until all jobs run with the newest config.
func (r *running) await() {
	began := time.Now()
	for again := 1; slices.ContainsFunc(r.jobs, func(j *agent) bool { return !j.settled() }); {
		require.Less(r.b.t, time.Since(began), 3*time.Minute, "a job does not report, or does not apply a config")
		if time.Since(began) > time.Duration(again)*10*time.Second {
			again++
			for _, j := range r.jobs {
				j.resend()
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// measure returns the samples per second of each job with an allocation.
func (r *running) measure(workers []int) []float64 {
	for i, j := range r.jobs {
		j.use(workers[i])
		j.take()
	}
	r.await()
	time.Sleep(r.b.times().settle)
	for _, j := range r.jobs {
		j.take()
	}
	time.Sleep(r.b.times().measure)
	r.await() // on a busy machine a step may take longer
	rates := make([]float64, len(r.jobs))
	for i, j := range r.jobs {
		rates[i] = rate(j.take())
	}
	return rates
}

// learn runs the tuner until its advice is final, and returns that.
func (r *running) learn() []int {
	ctx, cancel := context.WithCancel(r.b.t.Context())
	defer cancel()
	session := membus.New().Session()
	log := slog.New(slog.DiscardHandler)
	recorder := history.NewRecorder(session, log)
	policy := loader.DefaultChangePolicy()
	policy.Dwell = r.b.times().dwell
	controller := advise.Controller{
		Source:   recorder,
		Writer:   session,
		Metrics:  noMetrics{},
		Adviser:  &advise.Adviser{Policy: policy},
		Interval: time.Second,
		Log:      log,
	}
	go func() { _ = recorder.Run(ctx) }()
	go controller.Run(ctx)
	put := func(key string, value []byte) {
		_, err := session.Put(ctx, key, value, bus.Ephemeral)
		require.NoError(r.b.t, err)
	}
	load, err := bus.Encode(bus.NodeLoad{LoaderBudget: r.budget})
	require.NoError(r.b.t, err)
	put(bus.LoadKey(nodeName), load)
	for began := time.Now(); time.Since(began) < r.b.times().learn; {
		time.Sleep(r.b.times().interval)
		for _, j := range r.jobs {
			j.publish(put)
			j.follow(ctx, session.List)
		}
	}
	workers := make([]int, len(r.jobs))
	for i, j := range r.jobs {
		j.mu.Lock()
		workers[i] = j.loaders
		j.mu.Unlock()
	}
	return workers
}

type noMetrics struct{}

func (noMetrics) ObserveAllocation(time.Duration) {}
func (noMetrics) CountChange(string)              {}

// allocations returns all allocations that use the whole budget.
func allocations(jobs, budget int) [][]int {
	if jobs == 1 {
		return [][]int{{budget}}
	}
	var all [][]int
	for w := range budget + 1 {
		for _, rest := range allocations(jobs-1, budget-w) {
			all = append(all, append([]int{w}, rest...))
		}
	}
	return all
}

func sum(values []float64) (total float64) {
	for _, v := range values {
		total += v
	}
	return total
}

// fractions returns the sum of the fractions of full speed.
func (r *running) fractions(rates []float64) (total float64) {
	for i, v := range rates {
		total += v / r.jobs[i].fullSpeed()
	}
	return total
}

// applications returns what the published allocators know: full speed, and what one worker loads.
func (r *running) applications(one []float64) []application {
	apps := make([]application, len(r.jobs))
	for i, j := range r.jobs {
		apps[i] = application{gpu: j.fullSpeed(), loader: one[i], devices: 1}
	}
	return apps
}

func (b *bench) mix(m realMix) {
	r := b.run(m)
	defer r.end()
	trellis := r.learn()
	samples, fractions := r.best()
	apps := r.applications(r.loading())
	b.compare(r, []named{
		{"even split", m.even()},
		{"WAA, one node", waaSingleNode(apps, m.budget)},
		{"WAA, several nodes", waaMultiNode(apps, m.budget)},
		{"Trellis", trellis},
		{mostSamples, samples},
		{mostFractions, fractions},
	})
}

// The best of all allocations are contestants too.
const (
	mostSamples   = "best for samples/s"
	mostFractions = "best for fractions"
)

// best measures all allocations that use the budget, and returns those with the most samples per second and with the largest
// sum of fractions of full speed. In a mix without a goal that is the even split.
func (r *running) best() (samples, fractions []int) {
	samples, fractions = r.even(), r.even()
	if r.goal == 0 {
		return samples, fractions
	}
	var mostSamples, mostFractions float64
	for _, workers := range allocations(len(r.jobs), r.budget) {
		rates := r.measure(workers)
		if total := sum(rates); total > mostSamples {
			samples, mostSamples = workers, total
		}
		if total := r.fractions(rates); total > mostFractions {
			fractions, mostFractions = workers, total
		}
	}
	return samples, fractions
}

// loading returns the samples per second that one worker loads. A job that hardly waits for it is taken to need half of one.
func (r *running) loading() []float64 {
	rates := r.measure(slices.Repeat([]int{1}, len(r.jobs)))
	for i, j := range r.jobs {
		if rates[i] > 0.95*j.fullSpeed() {
			rates[i] = 2 * j.fullSpeed()
		}
	}
	return rates
}

// named is an allocation of a contestant.
type named struct {
	name    string
	workers []int
}

// compare measures the contestants in turns. Those with the same allocation share its measurements.
func (b *bench) compare(r *running, contestants []named) {
	rates := map[string][]float64{}
	fractions := map[string][]float64{}
	for range b.times().repeats {
		measured := map[string][]float64{}
		for _, c := range contestants {
			key := fmt.Sprint(c.workers)
			if measured[key] == nil {
				measured[key] = r.measure(c.workers)
			}
			rates[c.name] = append(rates[c.name], sum(measured[key]))
			fractions[c.name] = append(fractions[c.name], r.fractions(measured[key]))
		}
	}
	for _, c := range contestants {
		b.details[r.name+", "+c.name] = strings.Trim(fmt.Sprint(c.workers), "[]")
		name := fmt.Sprintf("%s, %s", r.name, c.name)
		b.figure(name+": throughput", "samples/s", rates[c.name]...)
		if c.name == "even split" {
			continue
		}
		if c.name == "Trellis" && r.goal > 0 {
			b.figure(name+": of the best for fractions", "%", parts(fractions[c.name], fractions[mostFractions])...).atLeast(99)
		}
		gain := b.figure(name+": samples/s against the even split", "%", changes(rates[c.name], rates["even split"])...)
		if c.name == "Trellis" && r.goal > 0 {
			gain.atLeast(r.goal)
		}
		b.figure(name+": fractions of full speed against the even split", "%", changes(fractions[c.name], fractions["even split"])...)
	}
}

// parts returns each value as a part of that of the same repeat of another contestant, in per cent.
func parts(values, of []float64) []float64 {
	all := make([]float64, len(values))
	for i := range values {
		all[i] = 100 * values[i] / of[i]
	}
	return all
}

// changes returns the change from each value of before to the value of the same repeat, in per cent.
func changes(after, before []float64) []float64 {
	all := parts(after, before)
	for i := range all {
		all[i] -= 100
	}
	return all
}

func realJobs(b *bench) {
	for _, m := range realMixes {
		if *quickRun && *mixArg == "" && m.name != "decode" || *mixArg != "" && *mixArg != m.name {
			continue
		}
		fmt.Printf("  %s\n", m.name)
		b.mix(m)
	}
}
