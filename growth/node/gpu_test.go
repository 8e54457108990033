package node

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// Two GPUs are in one group if a job uses both, or if other GPUs connect them.
func TestConnect(t *testing.T) {
	for name, tc := range map[string]struct {
		jobs [][]growth.GPU
		want []string
	}{
		"no job":                        {nil, nil},
		"jobs on different GPUs":        {[][]growth.GPU{{"a"}, {"b"}}, []string{"[a] 0", "[b] 1"}},
		"jobs on the same GPU":          {[][]growth.GPU{{"a"}, {"b"}, {"a"}}, []string{"[a] 0 2", "[b] 1"}},
		"a job on two GPUs":             {[][]growth.GPU{{"a"}, {"b"}, {"a", "b"}}, []string{"[a b] 0 1 2"}},
		"a chain":                       {[][]growth.GPU{{"a", "b"}, {"c", "d"}, {"b", "c"}, {"e"}}, []string{"[a b c d] 0 1 2", "[e] 3"}},
		"a job that connects all":       {[][]growth.GPU{{"a"}, {"b"}, {"c"}, {"a", "b", "c"}}, []string{"[a b c] 0 1 2 3"}},
		"in the order of the first GPU": {[][]growth.GPU{{"c"}, {"b"}, {"a", "c"}}, []string{"[a c] 0 2", "[b] 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			var jobs []gpuJob
			for i, gpus := range tc.jobs {
				uid := growth.PodUID(fmt.Sprint(i))
				jobs = append(jobs, gpuJob{job: &job{pod: Pod{Ref: growth.PodRef{UID: uid}}}, gpus: gpus})
			}
			var got []string
			for _, g := range connect(jobs) {
				text := fmt.Sprint(g.gpus)
				for _, j := range g.jobs {
					text += " " + string(j.pod.Ref.UID)
				}
				got = append(got, text)
			}
			require.Equal(t, tc.want, got)
		})
	}
}

// 10 s of one GPU.
func TestChargeGPU(t *testing.T) {
	alone := func(s growth.Seconds) gpuReading { return gpuReading{alone: s, measured: true} }
	shared := func(s growth.Seconds) gpuReading { return gpuReading{shared: s, measured: true} }
	never := func(s growth.Seconds) gpuReading { return gpuReading{shared: s} }
	exactly := func(s growth.Seconds) gpuReading { return gpuReading{shared: s, exact: true} }
	outside := gpuReading{alone: 2.5, shared: 3.75, exact: true, measured: true}
	for name, tc := range map[string]struct {
		readings []gpuReading
		want     []growth.Seconds
		shared   []bool
	}{
		"turns are charged in full":               {[]gpuReading{alone(7), alone(3)}, []growth.Seconds{7, 3}, []bool{false, false}},
		"a GPU that is idle at times":             {[]gpuReading{alone(5), alone(3)}, []growth.Seconds{5, 3}, []bool{false, false}},
		"next to a job that has left":             {[]gpuReading{{alone: 4, shared: 6, measured: true}}, []growth.Seconds{10}, []bool{true}},
		"all at the same time":                    {[]gpuReading{shared(10), shared(10)}, []growth.Seconds{5, 5}, []bool{true, true}},
		"one waits for data":                      {[]gpuReading{shared(10), shared(5)}, []growth.Seconds{20. / 3, 10. / 3}, []bool{true, true}},
		"a set of two for half of the time":       {[]gpuReading{shared(5), shared(5), alone(5)}, []growth.Seconds{2.5, 2.5, 5}, []bool{true, true, false}},
		"next to a job that is never paused":      {[]gpuReading{alone(10), never(10)}, []growth.Seconds{5, 5}, []bool{true, true}},
		"a job alone that is not connected":       {[]gpuReading{never(8)}, []growth.Seconds{8}, []bool{false}},
		"never more than the time that passed":    {[]gpuReading{alone(8), shared(10), shared(10)}, []growth.Seconds{8, 1, 1}, []bool{false, true, true}},
		"next to a job that the driver measures":  {[]gpuReading{shared(6), shared(4), exactly(2)}, []growth.Seconds{2.88, 1.92, 2}, []bool{true, true, false}},
		"the driver measures all jobs":            {[]gpuReading{exactly(7), exactly(2)}, []growth.Seconds{7, 2}, []bool{false, false}},
		"the driver measures more than there is":  {[]gpuReading{exactly(10), exactly(10), shared(10)}, []growth.Seconds{5, 5, 0}, []bool{false, false, false}},
		"an unknown job and one that is measured": {[]gpuReading{alone(10), never(10), exactly(4)}, []growth.Seconds{3, 3, 4}, []bool{true, true, false}},
		"next to a job that ignores its turns":    {[]gpuReading{alone(7.5), outside}, []growth.Seconds{3.75, 6.25}, []bool{false, false}},
		"a job that starts":                       {[]gpuReading{alone(10), never(0)}, []growth.Seconds{10, 0}, []bool{false, false}},
	} {
		t.Run(name, func(t *testing.T) {
			for i, c := range chargeGPU(tc.readings, 10) {
				require.InDelta(t, float64(tc.want[i]), float64(c.work), 1e-9)
				require.Equal(t, tc.shared[i], c.shared)
			}
		})
	}
}

// The cost of a step is exact once the job has had the GPU alone, and stays that.
func TestMeasureGPUCost_PrefersExactIntervals(t *testing.T) {
	j := &job{}
	interval := func(steps int64, used growth.Seconds, shared ...bool) {
		j.counter.steps += steps
		for _, unsure := range shared {
			c := charged{all: used / growth.Seconds(len(shared)), work: used / growth.Seconds(len(shared))}
			if unsure {
				c.unsure = c.all
			}
			j.gpu.charge(c, 1)
		}
		j.measureGPUCost()
	}
	perStep := func() float64 {
		mean, _ := j.gpu.cost.perStep()
		return float64(mean)
	}
	interval(10, 1, true)
	interval(100, 20, true)
	require.InDelta(t, 0.2, perStep(), 1e-9)
	require.False(t, j.gpu.exact)
	interval(100, 20, true, true, true, true, false)
	require.False(t, j.gpu.exact, "others have computed in four of five looks")
	interval(0, 5, true)
	interval(50, 5, false)
	require.False(t, j.gpu.exact, "others have computed since the last step")
	interval(100, 10, false)
	require.True(t, j.gpu.exact)
	require.InDelta(t, 0.1, perStep(), 0.005)
	interval(100, 50, true)
	require.InDelta(t, 0.1, perStep(), 0.005, "others have computed too")
	interval(100, 10, false)
	require.InDelta(t, 0.1, perStep(), 0.005)
}

// A job that waits makes a step now and then, which takes twice as long as when it has its GPU for longer.
func TestMeasureGPUCost_LeavesOutBriefTurns(t *testing.T) {
	j := &job{}
	interval := func(steps int64, used growth.Seconds) (perStep float64) {
		j.counter.steps += steps
		j.gpu.charge(charged{elapsed: 5, all: used, work: used}, 1)
		j.measureGPUCost()
		mean, _ := j.gpu.cost.perStep()
		return float64(mean)
	}
	interval(1, 0.02)
	require.InDelta(t, 0.02, interval(2, 0.04), 1e-9, "nothing better is known")
	require.InDelta(t, 0.01, interval(400, 4), 5e-4)
	for range 100 {
		require.InDelta(t, 0.01, interval(3, 0.06), 5e-4)
	}
	for range 5 {
		interval(200, 4)
	}
	require.InDelta(t, 0.02, interval(200, 4), 2e-3, "its steps have become longer")
}

// The first steps of a turn say what a step costs at most, also where its cost is only assumed from other runs.
func TestMeasureGPUCost_IsAtMostThatOfBriefTurns(t *testing.T) {
	for name, tc := range map[string]struct{ assumed, brief, least, most float64 }{
		"cold steps":                {0.01, 0.02, 0.01, 0.01},
		"the assumption is too low": {0.01, 0.08, 0.01, 0.01},
		"the assumption is larger":  {0.03, 0.02, 0.02, 0.03},
		"far larger":                {1, 0.02, 0.02, 0.02},
	} {
		t.Run(name, func(t *testing.T) {
			j := &job{}
			j.spec.Progress.Source = gpushare.FromSocket
			j.gpu.seen = GPUUse{Gated: true, Steps: 1}
			interval := func(steps int64, used growth.Seconds) growth.Work {
				j.counter.steps += steps
				j.gpu.turns = turnSteps{steps, used}
				j.gpu.charge(charged{elapsed: 5, all: used, work: used}, 1)
				j.measureGPUCost()
				mean, _ := j.gpu.cost.perStep()
				return mean
			}
			interval(3, 1)
			j.gpu.cost.assume(growth.Work(tc.assumed), 50, true)
			for range 20 {
				mean := float64(interval(3, growth.Seconds(3*tc.brief)))
				require.GreaterOrEqual(t, mean, tc.least-1e-9)
				require.LessOrEqual(t, mean, tc.most+1e-9)
			}
			for range 10 {
				interval(100, 2)
			}
			require.InDelta(t, 0.02, float64(interval(100, 2)), 1e-3, "measured")
		})
	}
}

// A job that computed next to others until 10 s has the GPU alone from then on. Its steps take 0.1 s alone, and are reported up to a
// second late.
func TestMeasureGPUCost_CountsWorkUpToTheLastReport(t *testing.T) {
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(seconds float64) time.Time { return began.Add(time.Duration(seconds * float64(time.Second))) }
	j := &job{}
	last := at(0)
	look := func(seconds float64, steps int64, reported float64, unsure bool) {
		j.counter.steps, j.stepped = steps, at(reported)
		work := growth.Seconds(at(seconds).Sub(last).Seconds())
		c := charged{all: work, work: work}
		if unsure {
			c.work, c.unsure = work/2, c.all
		}
		j.gpu.charge(c, j.reportedPart(last, at(seconds)))
		j.measureGPUCost()
		last = at(seconds)
	}
	look(5, 40, 4, true)
	look(10, 90, 9, true)
	require.False(t, j.gpu.exact)
	look(10.1, 100, 10.05, false)
	require.False(t, j.gpu.exact, "the steps of the last second at the same time")
	look(11, 100, 10.05, false)
	require.False(t, j.gpu.exact, "no step is reported")
	look(12.5, 120, 12.05, false)
	require.True(t, j.gpu.exact)
	mean, _ := j.gpu.cost.perStep()
	require.InDelta(t, .1, float64(mean), .001)
}

// A job has its GPU for some part of each second, and reports its steps of 10 ms once in it. How much of its work they were is known by the
// time of the report only. The cost of the first few steps of a job alone was wrong by a factor of up to ten.
func TestMeasureGPUCost_IsThatOfWholeTurns(t *testing.T) {
	const cost = 0.01
	random := rand.New(rand.NewPCG(1, 2))
	for run := range 500 {
		began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		at := func(seconds float64) time.Time { return began.Add(time.Duration(seconds * float64(time.Second))) }
		j, held := &job{}, 0.0
		j.spec.Progress.Source = gpushare.FromSocket
		for second := range 60 {
			turn, reported := 0.1+0.4*random.Float64(), random.Float64()
			until := min(max(reported-random.Float64()*(1-turn), 0), turn) // what it had computed of its turn at the report
			j.counter.steps, j.stepped = int64((held+until)/cost), at(float64(second)+reported)
			steps := int64((held+turn)/cost) - int64(held/cost)
			held += turn
			c := charged{elapsed: 1, all: growth.Seconds(turn), work: growth.Seconds(turn)}
			if second < 5 { // others compute at the same time
				c.work, c.unsure = c.work/2, c.all
			} else {
				j.gpu.seen = GPUUse{Gated: true, Steps: 1}
				j.gpu.turns = j.gpu.turns.plus(turnSteps{steps, growth.Seconds(float64(steps) * cost)})
			}
			j.gpu.charge(c, j.reportedPart(at(float64(second)), at(float64(second+1))))
			j.measureGPUCost()
			if mean, _ := j.gpu.cost.perStep(); j.gpu.exact {
				require.InEpsilon(t, cost, float64(mean), 0.03, "run %d, after %d s", run, second)
			}
		}
		require.True(t, j.gpu.exact)
	}
}

// The driver's records are up to two seconds old. A job that computes all the time is charged all of it in the end, however far apart
// the looks are.
func TestReadMeasured_LosesNoTimeOfLateRecords(t *testing.T) {
	n, start := &Node{}, time.Unix(1000, 0)
	self := &job{pod: Pod{Ref: growth.PodRef{UID: "a"}}}
	j := gpuJob{job: self, pods: []*job{self}, gpus: []growth.GPU{"GPU-0"}}
	last, charged := growth.Seconds(0), growth.Seconds(0)
	for _, at := range []growth.Seconds{5, 5.5, 10, 10.5, 11, 20, 20.1, 25, 40} {
		n.now = start.Add(at.Duration())
		record := 2 * growth.Seconds(int(at)/2)
		busy := GPUBusy{At: record, GPUs: map[growth.GPU]map[growth.PodUID]BusyTime{"GPU-0": {"a": {Kernels: record, Processes: 1}}}}
		r := n.readMeasured(j, gpuReading{}, busy, start.Add(last.Duration()))
		charge := chargeGPU([]gpuReading{r}, at-last)[0].work
		require.InDelta(t, float64(r.shared), float64(charge), 1e-6, "the job is charged what it has used")
		charged, last = charged+charge, at
	}
	require.InDelta(t, 36, float64(charged), 2, "since the first record, of second 4")
}

// A batch size is judged by the part of the resource that limits the job.
func TestLimitingShare(t *testing.T) {
	j := &job{share: .2, gpu: gpuTime{share: .7, plain: .5}}
	require.Equal(t, growth.Share(.2), (&Node{}).limitingShare(j), "the CPU is divided")
	divides := &Node{computes: true}
	j.gpu.part = gpuGroup{}.partOf(gpuJob{job: j})
	require.Equal(t, growth.Share(.5), divides.limitingShare(j), "all compute at the same time")
	j.gpu.part = gpuGroup{turns: true}.partOf(gpuJob{job: j})
	require.Equal(t, growth.Share(.7), divides.limitingShare(j), "jobs take turns")
}
