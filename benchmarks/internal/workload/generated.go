package workload

import (
	"fmt"
	"math/rand/v2"

	"github.com/trellis-gpu/trellis/growth"
)

// Defaults are what a format does not say about its jobs.
type Defaults struct {
	// GPUMemory is an annotation value, CPU the initial request.
	GPUMemory string
	CPU       growth.MilliCPU
	// Seed decides when jobs of formats without times arrive, and how long jobs of formats without a length are.
	Seed uint64
}

// mix are IADeep's jobs: a name, the example that stands in for it, its part of all arrivals, and GPU memory.
var mix = []struct {
	name, kind string
	part       float64
	memory     string
}{
	{"vgg16", "cnn", 0.212, "7Gi"},
	{"resnet50", "cnn", 0.212, "5Gi"},
	{"squeezenet", "cnn", 0.212, "3Gi"},
	{"neumf", "mlp", 0.182, "3Gi"},
	{"lstm", "lstm", 0.182, "3Gi"},
}

// Philly returns n jobs of IADeep's mix that arrive as Arrivals says. Each takes 15 to 45 s alone on a core.
func Philly(n int, d Defaults) (Workload, error) {
	if n < 1 || n > maxJobs {
		return nil, fmt.Errorf("%d jobs: there must be 1 to %d", n, maxJobs)
	}
	dice := rand.New(rand.NewPCG(d.Seed, 2))
	jobs := make(Workload, n)
	for i, arrival := range Arrivals(n, d.Seed) {
		at, k := dice.Float64(), 0
		for ; k < len(mix)-1 && at >= mix[k].part; k++ {
			at -= mix[k].part
		}
		j := d.job(fmt.Sprintf("%s-%d", mix[k].name, i+1), mix[k].kind, i)
		j.Arrival = arrival
		j.GPUMemory = mix[k].memory
		j.Steps = int((0.5 + dice.Float64()) * float64(usualSteps(j.Kind)))
		jobs[i] = j
	}
	return jobs, nil
}

// job returns a job of the examples, the i-th of its workload from 0.
func (d Defaults) job(name, kind string, i int) Job {
	return Job{
		Name: name, Kind: kind, Steps: 1, Batch: usualBatch,
		GPUMemory: d.GPUMemory, CPU: d.CPU, Metric: "loss:min", Progress: "socket",
		Seed: uint32(d.Seed) + uint32(i), Device: CPU,
	}
}
