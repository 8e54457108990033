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
// these.
func GPUMachines() []Machine {
	return []Machine{
		{Cores: 4, GPUs: 1, Widths: []int{1}},
		{Cores: 8, GPUs: 2, Widths: []int{1, 1, 2}},
		{Cores: 32, GPUs: 8, Widths: []int{1}},
		{Cores: 32, GPUs: 8, Widths: []int{1, 1, 2, 4}},
	}
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
	if m.GPUs == 1 {
		return "1 GPU"
	}
	widths := slices.Compact(slices.Sorted(slices.Values(m.Widths)))
	return fmt.Sprintf("%d GPUs, jobs on %s", m.GPUs, strings.ReplaceAll(strings.Trim(fmt.Sprint(widths), "[]"), " ", "/"))
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
	work := growth.Seconds(r.Done)
	if len(r.On) > 0 {
		return node.PodDeleted{Pod: id(r), GPU: &work}
	}
	return node.PodDeleted{Pod: id(r), CPU: &work}
}

// divideGPUs divides the time of each GPU by weight among the jobs on it. A job on several GPUs has the same time on each.
// No GPU is idle that some job can use. It returns the work per second.
func divideGPUs(jobs []*Running, weights []float64) []float64 {
	d := filling{jobs: jobs, weights: weights, times: make([]float64, len(jobs)), free: map[growth.GPU]float64{}}
	for i, j := range jobs {
		d.rising = append(d.rising, i)
		for _, gpu := range j.On {
			d.free[gpu] = 1
		}
	}
	for len(d.rising) > 0 {
		d.rise()
	}
	rates := make([]float64, len(jobs))
	for i, j := range jobs {
		rates[i] = max(d.times[i], dust) * float64(len(j.On))
	}
	return rates
}

// filling raises the times of all jobs together until each has reached its limit or a full GPU.
type filling struct {
	jobs    []*Running
	weights []float64
	times   []float64 // fractions of time
	free    map[growth.GPU]float64
	rising  []int // indices
}

// rise raises the times to the next limit or full GPU. At least one job stops to rise there.
func (d *filling) rise() {
	demand := map[growth.GPU]float64{}
	for _, i := range d.rising {
		for _, gpu := range d.jobs[i].On {
			demand[gpu] += d.weights[i]
		}
	}
	step, first := math.Inf(1), 0
	for _, i := range d.rising {
		most := d.limit(i) / d.weights[i]
		for _, gpu := range d.jobs[i].On {
			most = min(most, d.free[gpu]/demand[gpu])
		}
		if most < step {
			step, first = most, i
		}
	}
	for _, i := range d.rising {
		d.times[i] += step * d.weights[i]
		for _, gpu := range d.jobs[i].On {
			d.free[gpu] -= step * d.weights[i]
		}
	}
	d.rising = slices.DeleteFunc(d.rising, func(i int) bool {
		full := func(gpu growth.GPU) bool { return d.free[gpu] < dust }
		return i == first || d.limit(i) < dust || slices.ContainsFunc(d.jobs[i].On, full)
	})
}

// limit returns by how much the time of a job can still rise.
func (d *filling) limit(job int) float64 {
	j := d.jobs[job]
	return j.Limit/float64(len(j.On)) - d.times[job]
}

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

// shares returns the weights with which jobs get turns. Jobs that take no turns have equal weights.
func (g *onGPUs) shares(running []*Running) []float64 {
	shares := make([]float64, len(running))
	for i, r := range running {
		shares[i] = 1
		for _, group := range g.plan.Groups {
			for _, j := range group.Jobs {
				if j.Pod == id(r) && !group.Open {
					shares[i] = max(float64(j.Share), 1e-6)
				}
			}
		}
	}
	return shares
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

// gpuUses returns the readings of the jobs on GPUs. Jobs that take no turns hold and wait in the same proportion.
func gpuUses(running []*Running) map[growth.PodUID]node.GPUUse {
	uses := map[growth.PodUID]node.GPUUse{}
	for _, r := range running {
		if len(r.On) == 0 {
			continue
		}
		held := growth.Seconds(r.Done / float64(len(r.On)))
		uses[id(r)] = node.GPUUse{
			Held:   held,
			Waited: growth.Seconds(r.Waited),
			Alone:  held,
			Gated:  true,
		}
	}
	return uses
}
