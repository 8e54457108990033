package workload

import (
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/trellis-gpu/trellis/benchmarks/internal/qoredl"
	"github.com/trellis-gpu/trellis/benchmarks/internal/torchloader"
	"github.com/trellis-gpu/trellis/growth"
)

// maxStandInBatch bounds the batch of an example that stands in for another job. The examples have 1,437 images.
const maxStandInBatch = 1024

// readTorchloader returns a job for each node of each application: the CNN, or data-parallel training if it has several devices
// there. Steps are the application's, batch and data loaders the node's part.
func readTorchloader(r io.Reader, d Defaults) (Workload, error) {
	applications, err := torchloader.Read(r)
	if err != nil {
		return nil, err
	}
	var jobs Workload
	for i, a := range applications {
		for k, part := range a.Parts() {
			name := podName(i, a)
			if len(a.Nodes) > 1 {
				name += fmt.Sprintf("-node-%d", k+1)
			}
			j := d.job(name, "cnn", len(jobs))
			j.Arrival = a.Arrival
			j.Steps = a.Iterations()
			j.Workers = part.Workers
			if devices := len(part.Node.Devices); devices > 1 {
				j.Kind, j.GPUs = "ddp", devices
			}
			j.Batch = min(part.Batch/j.Ranks(), maxStandInBatch)
			if jobs = append(jobs, j); len(jobs) > maxJobs {
				return nil, fmt.Errorf("the workload has more than %d jobs, of which each is one for each of its nodes", maxJobs)
			}
		}
	}
	slices.SortStableFunc(jobs, func(a, b Job) int { return cmp.Compare(a.Arrival, b.Arrival) })
	return jobs, nil
}

// podName returns a name such as job-1-resnet18. The number is in front of the model, so that no two jobs have the same name.
func podName(i int, a torchloader.Application) string {
	model := strings.ReplaceAll(a.Architecture+a.Depth, "_", "-")
	return fmt.Sprintf("job-%d-%s", i+1, strings.TrimRight(model, "-"))
}

// readQoreDL returns a job for each configuration in a file of iteration times, in the order of the file. They arrive as in
// Arrivals and make 100 to 1,000 iterations. The example that stands in for a job has as many steps as take the same time.
func readQoreDL(r io.Reader, d Defaults) (Workload, error) {
	rows, err := qoredl.ReadIterations(r)
	if err != nil {
		return nil, err
	}
	configurations, times := fastest(rows)
	if len(configurations) > maxJobs {
		return nil, fmt.Errorf("the file has %d configurations: at most %d", len(configurations), maxJobs)
	}
	dice := rand.New(rand.NewPCG(d.Seed, 3))
	jobs := make(Workload, len(configurations))
	for i, arrival := range Arrivals(len(configurations), d.Seed) {
		j := d.job(fmt.Sprintf("qore-dl-%d", i+1), "cnn", i)
		j.Arrival = arrival
		j.Batch = min(configurations[i].Batch, maxStandInBatch)
		iterations := 100 + dice.IntN(901)
		seconds := times[i] / 100 * growth.Seconds(iterations)
		j.Steps = max(1, int(min(seconds/stepTime(j.Kind, j.Batch), maxSteps)))
		jobs[i] = j
	}
	return jobs, nil
}

// fastest returns the configurations in the order of their first row, and the median time of each with the most CPU that it
// was granted.
func fastest(rows []qoredl.Iteration) (configurations []qoredl.Configuration, times []growth.Seconds) {
	most := map[qoredl.Configuration]float64{}
	for _, row := range rows {
		if most[row.Configuration] == 0 {
			configurations = append(configurations, row.Configuration)
		}
		most[row.Configuration] = max(most[row.Configuration], row.Allocation.CPU)
	}
	of := map[qoredl.Configuration][]growth.Seconds{}
	for _, row := range rows {
		if row.Allocation.CPU == most[row.Configuration] {
			of[row.Configuration] = append(of[row.Configuration], row.Hundred)
		}
	}
	for _, c := range configurations {
		slices.Sort(of[c])
		times = append(times, of[c][len(of[c])/2])
	}
	return configurations, times
}
