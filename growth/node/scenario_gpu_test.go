package node_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// gpus are the GPUs of a scenario and the jobs on them. Jobs that take turns compute alone, in proportion to their shares;
// others compute at the same time, at equal speeds.
type gpus struct {
	jobs  map[string]*gpuJob
	plan  node.TurnPlan
	shown string // the plan in the transcript
	// driver is set if the driver measures the jobs. elapsed is the time that has been measured.
	driver  bool
	elapsed growth.Seconds
}

// gpuJob is a job that makes steps on its GPUs.
type gpuJob struct {
	on          []growth.GPU
	use         node.GPUUse
	counted     growth.Seconds // use.Held at the last step
	done        float64        // seconds of computing alone
	total       float64
	perStep     float64
	need        float64 // as done, when the loss has made 95 % of its improvement
	demand      float64 // the most of its GPUs' time that it can use
	together    float64 // its speed next to one other such job; 0 if that is no faster than in turns
	worldSize   int
	unconnected bool
	ignores     bool // it computes all the time, and says that it stops after its turn
	trains      bool
	// claims returns the steps that the job reports instead of those that it has made; nil for an honest job.
	claims func(step, total int64) int64
}

func newGPUs() *gpus { return &gpus{jobs: map[string]*gpuJob{}} }

// add adds a pod with comma-separated GPUs.
func (g *gpus) add(name, list string) {
	if list == "" {
		list = "GPU-0"
	}
	g.jobs[name] = &gpuJob{on: gpushare.ParseGPUs(list)}
}

func (g *gpus) remove(name string) { delete(g.jobs, name) }

// restart lets a new coordinator count from zero, without a plan.
func (g *gpus) restart() {
	g.plan, g.shown = node.TurnPlan{}, ""
	for _, j := range g.jobs {
		j.use = node.GPUUse{}
	}
}

func (g *gpus) follow(plan *node.TurnPlan) {
	if plan != nil {
		g.plan = *plan
	}
}

func (g *gpus) of(name string) (shares []growth.GPUShare) {
	for _, gpu := range g.jobs[name].on {
		shares = append(shares, growth.GPUShare{GPU: gpu, Memory: growth.GiB})
	}
	return shares
}

// uses returns the readings of the coordinator.
func (g *gpus) uses() map[growth.PodUID]node.GPUUse {
	uses := map[growth.PodUID]node.GPUUse{}
	for name, j := range g.jobs {
		if j.trains && !j.unconnected {
			use := j.use
			use.Gated = true
			uses[uid(name)] = use
		}
	}
	for _, group := range g.plan.Groups {
		for _, j := range group.Jobs {
			if j.Freeze != "" && !group.Open {
				uses[j.Pod] = node.GPUUse{Frozen: true}
			}
		}
	}
	return uses
}

// busy returns what the driver has measured.
func (g *gpus) busy() node.GPUBusy {
	if !g.driver {
		return node.GPUBusy{}
	}
	measured := node.GPUBusy{At: g.elapsed, GPUs: map[growth.GPU]map[growth.PodUID]node.BusyTime{}}
	for name, j := range g.jobs {
		for _, gpu := range j.on {
			if measured.GPUs[gpu] == nil {
				measured.GPUs[gpu] = map[growth.PodUID]node.BusyTime{}
			}
			measured.GPUs[gpu][uid(name)] = node.BusyTime{Kernels: growth.Seconds(j.done), Processes: 1}
		}
	}
	return measured
}

// compute lets the jobs compute for some time.
func (g *gpus) compute(seconds float64) {
	var names []string
	var on [][]growth.GPU
	var weights []float64
	var demands []growth.Share
	g.elapsed += growth.Seconds(seconds)
	if slices.ContainsFunc(slices.Collect(maps.Values(g.jobs)), func(j *gpuJob) bool { return j.together > 0 }) {
		g.computeInSets(seconds)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(g.jobs)) {
		if j := g.jobs[name]; j.trains && j.done < j.total-1e-9 {
			names, on = append(names, name), append(on, j.on)
			weights = append(weights, g.weight(name))
			demands = append(demands, growth.Share(j.demand))
		}
	}
	for i, rate := range fairfinish.LimitedTimeShares(weights, demands, on) {
		j := g.jobs[names[i]]
		work := min(float64(rate)*seconds, j.total-j.done)
		j.done += work
		if others := g.neighbours(names[i], names); !g.takesTurns(names[i]) && len(others) > 0 {
			j.holdWith(others, growth.Seconds(seconds))
			j.countSteps(false)
			continue
		}
		if j.ignores {
			work = g.turn(names[i]) * seconds
		}
		j.use.Held += growth.Seconds(work)
		j.use.Alone += growth.Seconds(work)
		j.use.Waited += growth.Seconds(seconds - work)
		j.countSteps(true)
	}
}

// countSteps counts the steps of a job, as if its turn ended after the last complete one.
func (j *gpuJob) countSteps(alone bool) {
	made := int64(j.done/j.perStep) - j.use.Steps
	j.use.Steps += made
	if made > 0 && alone {
		j.use.AloneSteps += made
		j.use.AloneIn += j.use.Held - j.counted
	}
	if made > 0 {
		j.counted = j.use.Held
	}
}

// neighbours returns the other jobs on the GPUs of a job.
func (g *gpus) neighbours(name string, names []string) []string {
	return slices.DeleteFunc(without(names, name), func(other string) bool {
		return !slices.ContainsFunc(g.jobs[other].on, func(gpu growth.GPU) bool { return slices.Contains(g.jobs[name].on, gpu) })
	})
}

// weight returns the weight with which a job competes. One that is never paused competes with one other job at a time.
func (g *gpus) weight(name string) float64 {
	if g.jobs[name].ignores {
		return 1
	}
	return g.turn(name)
}

// turn returns the part of the time in which the job may compute.
func (g *gpus) turn(name string) float64 {
	for _, group := range g.plan.Groups {
		for _, j := range group.Jobs {
			if j.Pod == uid(name) && !j.Always && !group.Open {
				return float64(j.Share)
			}
		}
	}
	return 1
}

func (g *gpus) takesTurns(name string) bool {
	for _, group := range g.plan.Groups {
		for _, j := range group.Jobs {
			if j.Pod == uid(name) {
				return !group.Open && len(group.Jobs) > 1
			}
		}
	}
	return false
}

// runGPU runs a command about GPUs. It reports whether the command is one.
func (s *scenario) runGPU(what string, args []string) bool {
	switch what {
	case "inventory":
		s.step(node.InventoryChanged{Computes: args[0] == "computes", MPS: slices.Contains(args, "mps")})
	case "trains":
		s.trainsOnGPU(args[0], values(args[1:]))
	case "driver":
		s.gpus.driver = args[0] == "measures"
	case "compute":
		s.compute(s.duration(args[0]))
	case "reference":
		s.reference(args[0])
	case "sample":
		s.sampleGPU(args)
	case "pressure":
		pressure, err := strconv.ParseFloat(args[0], 64)
		require.NoError(s.t, err)
		s.now = s.now.Add(s.config.Interval)
		s.stalled += growth.Seconds(pressure * s.config.Interval.Seconds())
		s.gpus.compute(s.config.Interval.Seconds())
		s.step(node.Ticked{Usages: s.usages(), GPU: s.gpus.uses(), Busy: s.gpus.busy(), Stalled: node.Stalled{CPU: s.stalled}})
	default:
		return false
	}
	return true
}

// reference notes when fair sharing would have ended a job, as of the last decision.
func (s *scenario) reference(name string) {
	e, ok := s.node.Explain("ns/" + name)
	require.True(s.t, ok)
	last := e.GPU.Decisions[len(e.GPU.Decisions)-1]
	s.note("reference %s: fair sharing ends it in %.0f s, with %.0f GPU-seconds left", name,
		last.Inputs.FairFinish-growth.Seconds(s.now.Sub(last.At).Seconds()), last.Inputs.Remaining.Likely)
}

// sampleGPU notes what the samples of jobs have about GPU time.
func (s *scenario) sampleGPU(names []string) {
	for _, j := range s.node.Jobs() {
		if slices.Contains(names, j.Pod.Name) {
			s.note("sample    %s: %s of the time, pace %s", j.Pod.Name, j.GPU.Share, j.GPU.Pace)
		}
	}
}

func (s *scenario) trainsOnGPU(name string, v map[string]string) {
	j := s.gpus.jobs[name]
	number := func(key string, otherwise float64) float64 {
		if v[key] == "" {
			return otherwise
		}
		n, err := strconv.ParseFloat(v[key], 64)
		require.NoError(s.t, err)
		return n
	}
	j.total, j.perStep = number("seconds", 100), number("step", 0.1)
	j.need = number("need", 0.3*j.total)
	j.demand, j.together = number("demand", 1), number("together", 0)
	j.worldSize = int(number("world_size", 1))
	j.unconnected = v["shim"] == "old"
	j.ignores = v["turns"] == "ignored"
	j.trains = true
}

// compute lets time pass, with a report of each job before each round, and the wake-ups in between.
func (s *scenario) compute(d time.Duration) {
	end := s.now.Add(d)
	for s.now.Before(end) {
		next, wakes := s.tickAt(), false
		if s.wake.After(s.now) && s.wake.Before(next) {
			next, wakes = s.wake, true
		}
		if next.After(end) {
			next = end
		}
		s.gpus.compute(next.Sub(s.now).Seconds())
		s.now = next
		switch {
		case wakes && next.Equal(s.wake):
			s.step(node.Woken{Usages: s.usages(), GPU: s.gpus.uses(), Busy: s.gpus.busy()})
		case next.Equal(s.tickAt()), s.now.Sub(s.start)%s.config.Interval == 0:
			s.reportFromGPUs()
			s.step(node.Ticked{Usages: s.usages(), GPU: s.gpus.uses(), Busy: s.gpus.busy()})
		}
	}
}

// tickAt returns the time of the next round.
func (s *scenario) tickAt() time.Time {
	return s.start.Add(s.now.Sub(s.start).Truncate(s.config.Interval) + s.config.Interval)
}

func (s *scenario) reportFromGPUs() {
	for _, name := range slices.Sorted(maps.Keys(s.gpus.jobs)) {
		j := s.gpus.jobs[name]
		step := int64(j.done / j.perStep)
		if !j.trains || step == 0 {
			continue
		}
		if j.claims != nil {
			step = j.claims(step, int64(j.total/j.perStep))
		}
		p := wire.Progress{
			Step:        step,
			TotalSteps:  int64(j.total / j.perStep),
			Metrics:     wire.Metrics{{Name: "loss", Value: math.Exp(math.Log(0.05) * j.done / j.need)}},
			StepSeconds: growth.Seconds(j.perStep),
			Process:     wire.Process{WorldSize: j.worldSize},
		}
		e := node.ProgressReported{Slot: "slot-" + name, Connection: 1, Source: gpushare.FromSocket, Progress: p}
		if strings.HasPrefix(s.pods[name].Annotations[gpushare.ProgressAnnotation], "log:") {
			e = node.ProgressReported{Pod: uid(name), Source: gpushare.FromLog, Progress: p}
		}
		s.step(e)
	}
}

// renderTurns writes the plan, if it differs visibly from the last one.
func (s *scenario) renderTurns(plan *node.TurnPlan) {
	if plan == nil {
		return
	}
	var lines []string
	for _, group := range plan.Groups {
		var names []string
		for _, gpu := range group.GPUs {
			names = append(names, string(gpu))
		}
		var jobs []string
		for _, j := range group.Jobs {
			job := fmt.Sprintf("%s %s", strings.TrimPrefix(string(j.Pod), "uid-"), j.Share)
			if j.Always {
				job += " (always)"
			}
			if j.Set > 0 {
				job += fmt.Sprintf(" (set %d at %.2f)", j.Set, j.Speed)
			}
			if j.Freeze != "" {
				job += " (frozen)"
			}
			jobs = append(jobs, job)
		}
		kind := ""
		if group.Open {
			kind = "open, "
		}
		lines = append(lines, fmt.Sprintf("%s: %s%s", strings.Join(names, ", "), kind, strings.Join(jobs, ", ")))
	}
	if text := strings.Join(lines, "; "); text != s.gpus.shown {
		s.gpus.shown = text
		s.note("turns     %s", text)
	}
}
