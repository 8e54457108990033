package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/node"
)

// Speeds are relative to computing alone: [a][b] of a job of class a while one of class b computes on the same GPU. Of more
// jobs, each adds its part to the time of a step. With 0.5 for all classes, jobs that compute at the same time are as fast as
// in turns; with 1 they do not slow one another down.
type Speeds [][]float64

// Alike returns the speeds of one class of jobs.
func Alike(speed float64) Speeds { return Speeds{{speed}} }

// Mixed returns the speeds of three classes: small jobs run at 0.95 next to one another, large ones at 0.5, and jobs of
// middle size at 0.75.
func Mixed() Speeds {
	return Speeds{
		{0.95, 0.85, 0.7},
		{0.85, 0.75, 0.6},
		{0.8, 0.65, 0.5},
	}
}

// String returns a text such as "0.50 to 0.95".
func (s Speeds) String() string {
	all := slices.Concat(s...)
	least, most := slices.Min(all), slices.Max(all)
	if least == most {
		return fmt.Sprintf("%.2f", least)
	}
	return fmt.Sprintf("%.2f to %.2f", least, most)
}

// speed returns the speed of a job while others compute on its GPUs. Without Speeds they take turns of microseconds.
func (r *Running) speed(others []*Running) float64 {
	slowdown := 1.0
	for _, other := range others {
		if r.Speeds == nil {
			slowdown++
			continue
		}
		slowdown += 1/r.Speeds[r.Class][other.Class] - 1
	}
	return 1 / slowdown
}

// neighbours returns the other jobs on the GPUs of a job.
func (r *Running) neighbours(running []*Running) (others []*Running) {
	for _, other := range running {
		shared := func(gpu growth.GPU) bool { return slices.Contains(r.On, gpu) }
		if other != r && slices.ContainsFunc(other.On, shared) {
			others = append(others, other)
		}
	}
	return others
}

// gpuUse is how a job uses its GPUs, per second: its work, the time in which it computes, and the jobs that compute with it.
type gpuUse struct {
	work, held float64
	others     []*Running
}

// computeOnGPUs returns how each job uses its GPUs: in turns where the plan says so, else at the same time as all others.
func computeOnGPUs(running []*Running, plan node.TurnPlan) []gpuUse {
	units := unitsOf(running, plan)
	uses := map[*Running]gpuUse{}
	for i, time := range divideGPUs(units, capacities(running, units)) {
		for k, r := range units[i].jobs {
			others := slices.Delete(slices.Clone(units[i].jobs), k, k+1)
			width := float64(len(r.On))
			if units[i].turns {
				work := min(time*r.speed(others), r.Limit/width)
				uses[r] = gpuUse{work: work * width, held: work / r.speed(others), others: others}
				continue
			}
			others = r.neighbours(running)
			uses[r] = gpuUse{work: time * width, held: min(1, time/r.speed(others)), others: others}
		}
	}
	all := make([]gpuUse, len(running))
	for i, r := range running {
		all[i] = uses[r]
	}
	return all
}

// unitsOf returns the jobs that take turns, as sets, and all others one by one.
func unitsOf(running []*Running, plan node.TurnPlan) []unit {
	byID := map[growth.PodUID]*Running{}
	for _, r := range running {
		byID[id(r)] = r
	}
	var units []unit
	for _, group := range plan.Groups {
		sets := map[int]int{} // index of the unit by number of the set
		for _, j := range group.Jobs {
			r := byID[j.Pod]
			if r == nil || group.Open {
				continue
			}
			delete(byID, j.Pod)
			weight := max(float64(j.Share), 1e-6)
			u, known := sets[j.Set]
			if j.Set == 0 || !known {
				u = len(units)
				sets[j.Set] = u
				units = append(units, unit{turns: true, on: r.On})
			}
			if j.Set > 0 {
				weight /= j.Speed
			}
			units[u].jobs = append(units[u].jobs, r)
			units[u].weight = max(units[u].weight, weight)
		}
	}
	for _, r := range running {
		if byID[id(r)] != nil {
			units = append(units, unit{jobs: []*Running{r}, on: r.On, weight: r.speed(r.sharing(running)), limit: r.usable()})
		}
	}
	for i := range units {
		if units[i].turns {
			units[i].limit = limitOf(units[i].jobs)
		}
	}
	return units
}

// sharing returns the jobs that slow a job down under plain sharing. With time slicing, all jobs on a GPU have equal parts.
func (r *Running) sharing(running []*Running) []*Running {
	if r.Speeds == nil {
		return nil
	}
	return r.neighbours(running)
}

// usable returns the work that a job can do in one second on each of its GPUs.
func (r *Running) usable() float64 { return r.Limit / float64(len(r.On)) }

// limitOf returns the time per second in which one of the jobs can compute, if all do at the same time.
func limitOf(jobs []*Running) (limit float64) {
	for k, r := range jobs {
		others := slices.Delete(slices.Clone(jobs), k, k+1)
		limit = max(limit, r.usable()/r.speed(others))
	}
	return min(limit, 1)
}

// capacities returns the work of each GPU per second, or its time if jobs take turns.
func capacities(running []*Running, units []unit) map[growth.GPU]float64 {
	of := map[growth.GPU]float64{}
	for _, u := range units {
		for _, gpu := range u.on {
			if u.turns || u.jobs[0].Speeds == nil {
				of[gpu] = 1
				continue
			}
			of[gpu] += u.jobs[0].speed(u.jobs[0].neighbours(running))
		}
	}
	return of
}

// compute records what a job has done for some seconds.
func (r *Running) compute(use gpuUse, seconds float64) {
	r.Held += use.held * seconds
	r.Waited += max(0, 1-use.work/r.Limit-(use.held-use.work/float64(len(r.On)))) * seconds
	if len(use.others) == 0 {
		return
	}
	var ids []string
	for _, other := range use.others {
		ids = append(ids, string(id(other)))
	}
	if r.Together == nil {
		r.Together = map[string]float64{}
	}
	r.Together[strings.Join(ids, " ")] += use.held * seconds
}

// use returns the reading of a job.
func (r *Running) use() node.GPUUse {
	u := node.GPUUse{Held: growth.Seconds(r.Held), Alone: growth.Seconds(r.Held), Waited: growth.Seconds(r.Waited), Gated: true}
	for _, ids := range slices.Sorted(maps.Keys(r.Together)) {
		t := node.Together{Held: growth.Seconds(r.Together[ids])}
		for name := range strings.FieldsSeq(ids) {
			t.Others = append(t.Others, growth.PodUID(name))
		}
		u.Alone -= t.Held
		u.Together = append(u.Together, t)
	}
	u.Alone = max(0, u.Alone)
	return u
}
