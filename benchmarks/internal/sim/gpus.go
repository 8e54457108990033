package sim

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/node"
)

// GPUMachines lists the measured machines whose GPUs are divided. On the second and the fourth, jobs on several GPUs connect
// these. On the last four, jobs may compute at the same time: with 0.5 that is as good as turns, and with 1 they do not slow one
// another down.
func GPUMachines() []Machine {
	one := Machine{Cores: 4, GPUs: 1, Widths: []int{1}}
	machines := []Machine{
		one,
		{Cores: 8, GPUs: 2, Widths: []int{1, 1, 2}},
		{Cores: 32, GPUs: 8, Widths: []int{1}},
		{Cores: 32, GPUs: 8, Widths: []int{1, 1, 2, 4}},
	}
	for _, speeds := range []Speeds{Alike(0.5), Alike(0.8), Alike(1), Mixed()} {
		one.Speeds = speeds
		machines = append(machines, one)
	}
	return machines
}

func (m Machine) jobsOnGPUs() int {
	sum := 0
	for _, width := range m.Widths {
		sum += width
	}
	return crowd * m.GPUs * len(m.Widths) / sum
}

// textOnGPUs returns a text such as "8 GPUs, jobs on 1/2/4".
func (m Machine) textOnGPUs() string {
	text := "1 GPU"
	if m.GPUs > 1 {
		widths := slices.Compact(slices.Sorted(slices.Values(m.Widths)))
		text = fmt.Sprintf("%d GPUs, jobs on %s", m.GPUs, strings.ReplaceAll(strings.Trim(fmt.Sprint(widths), "[]"), " ", "/"))
	}
	if len(m.Speeds) > 0 {
		text += ", co-running " + m.Speeds.String()
	}
	return text
}

// drawOnGPUs returns the jobs of one seed. A job on several GPUs has neighbouring ones, as schedulers place it. A third of
// the jobs waits for data in up to half of the time.
func (m Machine) drawOnGPUs(dice, mistakes *rand.Rand, errors float64) []Job {
	jobs := make([]Job, m.Jobs())
	for i := range jobs {
		width := m.Widths[i%len(m.Widths)]
		j := Job{Arrival: arrivals * dice.Float64()}
		first := width * dice.IntN(m.GPUs/width)
		for g := range width {
			j.On = append(j.On, growth.GPU(fmt.Sprintf("GPU-%d", first+g)))
		}
		busy := 1.0
		if dice.IntN(3) == 0 {
			busy -= 0.5 * dice.Float64()
		}
		j.Limit = busy * float64(width)
		j.Work = float64(width) * (32 + 280*dice.Float64())
		j.Need = j.Work * (0.15 + 0.35*dice.Float64())
		j.Wrong = 1 + errors*(2*mistakes.Float64()-1)
		j.Speeds = m.Speeds
		if len(m.Speeds) > 0 {
			j.Class = dice.IntN(len(m.Speeds))
		}
		jobs[i] = j
	}
	slices.SortFunc(jobs, func(a, b Job) int { return cmp.Compare(a.Arrival, b.Arrival) })
	return jobs
}

// unit returns the unit of the job's work.
func (j Job) unit() growth.Unit {
	if len(j.On) > 0 {
		return growth.GPUSecond
	}
	return growth.CoreSecond
}

// deleted is the end of a job.
func (r *Running) deleted() node.PodDeleted {
	work := growth.Seconds(r.Done - r.Elsewhere)
	if len(r.On) > 0 {
		return node.PodDeleted{Pod: id(r), GPU: &work}
	}
	return node.PodDeleted{Pod: id(r), CPU: &work}
}

// unit is a job, or jobs that take turns as one.
type unit struct {
	jobs   []*Running
	turns  bool
	on     []growth.GPU
	weight float64
	// limit is the most time per second that the unit can use. Of a unit that takes no turns, time is the work that it does.
	limit float64
}

// divideGPUs divides the time of each GPU by weight among the units on it. A job on several GPUs has the same time on each.
// No GPU is idle that some unit can use. It returns the time of each unit per second. capacities has that of each GPU.
func divideGPUs(units []unit, capacities map[growth.GPU]float64) []float64 {
	d := filling{units: units, times: make([]float64, len(units)), free: capacities}
	for i := range units {
		d.rising = append(d.rising, i)
	}
	for len(d.rising) > 0 {
		d.rise()
	}
	for i, time := range d.times {
		d.times[i] = max(time, dust)
	}
	return d.times
}

// filling raises the times of all units together until each has reached its limit or a full GPU.
type filling struct {
	units  []unit
	times  []float64 // per second
	free   map[growth.GPU]float64
	rising []int // indices
}

// rise raises the times to the next limit or full GPU. At least one unit stops to rise there.
func (d *filling) rise() {
	demand := map[growth.GPU]float64{}
	for _, i := range d.rising {
		for _, gpu := range d.units[i].on {
			demand[gpu] += d.units[i].weight
		}
	}
	step, first := math.Inf(1), 0
	for _, i := range d.rising {
		most := d.limit(i) / d.units[i].weight
		for _, gpu := range d.units[i].on {
			most = min(most, d.free[gpu]/demand[gpu])
		}
		if most < step {
			step, first = most, i
		}
	}
	for _, i := range d.rising {
		d.times[i] += step * d.units[i].weight
		for _, gpu := range d.units[i].on {
			d.free[gpu] -= step * d.units[i].weight
		}
	}
	d.rising = slices.DeleteFunc(d.rising, func(i int) bool {
		full := func(gpu growth.GPU) bool { return d.free[gpu] < dust }
		return i == first || d.limit(i) < dust || slices.ContainsFunc(d.units[i].on, full)
	})
}

// limit returns by how much the time of a unit can still rise.
func (d *filling) limit(unit int) float64 { return d.units[unit].limit - d.times[unit] }

// onGPUs is the division of GPUs by a node.
type onGPUs struct {
	plan        node.TurnPlan
	allocations []bus.Allocation
}

func (g *onGPUs) follow(plan *node.TurnPlan) {
	if plan != nil {
		g.plan = *plan
	}
}

// allocate lets kubelet allocate the GPUs of a job.
func (p *nodePolicy) allocate(at time.Time, r *Running) {
	if len(p.gpus.allocations) == 0 {
		p.step(at, node.InventoryChanged{Computes: true})
	}
	c := bus.ContainerAllocation{Name: "train", Slot: string(id(r))}
	for _, gpu := range r.On {
		c.GPUs = append(c.GPUs, growth.GPUShare{GPU: gpu, Memory: growth.GiB})
	}
	p.gpus.allocations = append(p.gpus.allocations, bus.Allocation{
		Pod:        growth.PodRef{Namespace: "sim", Name: string(id(r)), UID: id(r)},
		Containers: []bus.ContainerAllocation{c},
	})
	p.step(at, node.AllocationsChanged{Allocations: p.gpus.allocations, Synced: true})
}

// free forgets the allocation of a job that has left.
func (g *onGPUs) free(r *Running) {
	g.allocations = slices.DeleteFunc(slices.Clone(g.allocations), func(a bus.Allocation) bool { return a.Pod.UID == id(r) })
}

// gpuUses returns the readings of the jobs on GPUs.
func gpuUses(running []*Running) map[growth.PodUID]node.GPUUse {
	uses := map[growth.PodUID]node.GPUUse{}
	for _, r := range running {
		if len(r.On) > 0 {
			uses[id(r)] = r.use()
		}
	}
	return uses
}
