package turnbench

import (
	"fmt"
	"math"
	"time"

	"github.com/stretchr/testify/require"
)

// shares measures two jobs at fixed weights. The weights replace the decision of the policy; all else is as usual. A job's share
// is the time for which it has the GPU: its steps, and the pauses in which the GPU is kept for it.
func shares(b *bench) {
	m := b.newMachine()
	m.start(harmless)
	first := m.launch("first", "run.py", b.train("cnn", endless, 1)...)
	second := m.launch("second", "run.py", b.train("lstm", endless, 2)...)
	b.trained(first, second)
	var between []time.Duration
	for _, weight := range []float64{1, 3, 9} {
		m.weigh(map[*job]float64{first: weight, second: 1})
		time.Sleep(b.span(5*time.Second, 2*time.Second)) // the present turns end
		before := m.kept(first, second)
		w := b.measure(b.span(60*time.Second, 6*time.Second))
		after := m.kept(first, second)
		records := [][]step{first.steps(b), second.steps(b)}
		kept := []float64{after[0] - before[0], after[1] - before[1]}
		one, two := held(records[0], w).Seconds()+kept[0], held(records[1], w).Seconds()+kept[1]
		require.Greater(b.t, one+two, .1*w.length().Seconds(), "the jobs do not compute")
		b.figure(fmt.Sprintf("weights %g:1, error of the time held", weight), "% of the time",
			100*math.Abs(one/(one+two)-weight/(weight+1))).atMost(2)
		b.figure(fmt.Sprintf("weights %g:1, GPU kept for a job that waits for data", weight), "% of the time",
			100*sum(kept)/w.length().Seconds())
		b.chart.add(fmt.Sprintf("weights %g:1", weight), w, map[string][]step{"first": records[0], "second": records[1]})
		between = append(between, gaps(records, w)...)
	}
	require.NotEmpty(b.t, between, "the jobs take no turns")
	limits := map[string][2]float64{"emulated": {1, 5}, "cuda": {5, 20}}[b.device]
	b.figure("GPU idle between two holders, median", "ms", milliseconds(quantile(between, .5))).atMost(limits[0])
	b.figure("GPU idle between two holders, p99", "ms", milliseconds(quantile(between, .99))).atMost(limits[1])
	b.figure("turns measured", "", float64(len(between)))
	m.close()
}

func milliseconds(d time.Duration) float64 { return 1000 * d.Seconds() }

// stepCost measures the calls of step() of a job that is gated and always has the turn, because the other job is idle.
func stepCost(b *bench) {
	m := b.newMachine()
	m.start(harmless)
	trainer := m.launch("trainer", "run.py", b.train("cnn", endless, 1)...)
	idle := m.launch("idle", "idle.py")
	b.trained(trainer, idle)
	m.weigh(map[*job]float64{trainer: 1, idle: 1})
	time.Sleep(3 * time.Second)
	w := b.measure(b.span(30*time.Second, 5*time.Second))
	var sum time.Duration
	n := 0
	for _, s := range trainer.steps(b) {
		if s.end > w.from && s.done <= w.to {
			sum += s.done - s.end
			n++
		}
	}
	require.NotZero(b.t, n, "the job does not compute")
	b.figure("step() while holding, mean", "µs", 1e6*sum.Seconds()/float64(n)).atMost(50)
	m.close()
}

// throughput compares four jobs with equal weights in turns and under plain sharing, in the same processes, alternately.
func throughput(b *bench) {
	m := b.newMachine()
	m.start(harmless)
	var jobs []*job
	for i, kind := range []string{"cnn", "vae", "gru", "lstm"} {
		jobs = append(jobs, m.launch(kind, "run.py", b.train(kind, endless, i+1)...))
	}
	b.trained(jobs...)
	var relative []float64
	for range b.repeats() {
		turns, open := b.alternate(m, jobs)
		relative = append(relative, mean(ratios(turns, open)))
	}
	target := 1.0
	if b.device == "cuda" {
		target = .98
	}
	b.figure("throughput of four jobs in turns, relative to plain sharing", "", relative...).atLeast(target)
	m.close()
}

// launches has two jobs that leave the GPU idle between two kernels, so that they get more done at the same time than in turns.
// The policy has a reason for turns, since one job has much less left than the other, and has to find out that they do not pay.
func launches(b *bench) {
	m := b.newMachine()
	m.start(harmless)
	jobs := []*job{b.gapped(m, "gaps-1", 200_000), b.gapped(m, "gaps-2", 2_000_000)}
	b.trained(jobs...)
	time.Sleep(b.span(2*time.Minute, 5*time.Second)) // the policy learns what is left, and the speeds
	var turns, decided []float64
	for range b.repeats() {
		one, open := b.alternate(m, jobs)
		m.decide()
		time.Sleep(2 * time.Second)
		ours := b.rates(jobs, b.measure(b.span(30*time.Second, 6*time.Second)))
		better := max(sum(one), sum(open))
		turns, decided = append(turns, sum(one)/sum(open)), append(decided, sum(ours)/better)
		b.progress("    in turns %.3f, as decided %.3f", turns[len(turns)-1], decided[len(decided)-1])
	}
	b.figure("throughput of two jobs with gaps in turns, relative to plain sharing", "", turns...)
	b.figure("throughput of two jobs with gaps as decided, relative to the better way", "", decided...).atLeast(.98)
	m.close()
}

// gapped starts a job that is bound by launches.
func (b *bench) gapped(m *machine, name string, steps int) *job {
	if b.device == "cuda" {
		return m.launch(name, "run.py", b.train("mlp", steps, 1)...)
	}
	return m.launch(name, "launches.py", "--steps", fmt.Sprint(steps))
}

// alternate returns the steps a second of each job in turns with equal weights, one by one, and with all of them computing at
// once.
func (b *bench) alternate(m *machine, jobs []*job) (turns, open []float64) {
	weights := map[*job]float64{}
	for _, j := range jobs {
		weights[j] = 1
	}
	m.weigh(weights)
	time.Sleep(2 * time.Second)
	turns = b.rates(jobs, b.measure(b.span(30*time.Second, 6*time.Second)))
	m.open()
	time.Sleep(2 * time.Second)
	open = b.rates(jobs, b.measure(b.span(30*time.Second, 6*time.Second)))
	return turns, open
}

// rates returns the steps a second of each job.
func (b *bench) rates(jobs []*job, w window) (rates []float64) {
	for _, j := range jobs {
		rates = append(rates, float64(counted(j.steps(b), w))/w.length().Seconds())
	}
	return rates
}

func ratios(a, b []float64) []float64 {
	quotients := make([]float64, len(a))
	for i := range a {
		quotients[i] = a[i] / b[i]
	}
	return quotients
}

func sum(values []float64) (s float64) {
	for _, v := range values {
		s += v
	}
	return s
}

func mean(values []float64) float64 { return sum(values) / float64(len(values)) }
