package training

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
)

// The variants of workload.Variants.
const (
	progressBar = "tqdm"
	twoRanks    = "ddp"
	guaranteed  = "guaranteed"
	// guaranteedModel is the model that a guaranteed job trains.
	guaranteedModel = "gru"
)

const (
	// memoryRequest is the approximate use of PyTorch with one data-loader worker.
	memoryRequest = "256Mi"
	// memoryLimit is enough for PyTorch with the workers that a job starts with, and for two ranks.
	memoryLimit = "1Gi"
)

// variantArguments returns the command line of a variant with a program of its own, or nil.
func variantArguments(job workload.Job) []string {
	steps, seed := strconv.Itoa(job.Steps), strconv.FormatUint(uint64(job.Seed), 10)
	switch job.Kind {
	case progressBar:
		return []string{scriptsFolder + "/bars.py", "--steps", steps, "--seed", seed}
	case twoRanks:
		command := []string{scriptsFolder + "/ddp.py", "--steps", steps, "--seed", seed, "--batch-size", strconv.Itoa(job.Batch)}
		if job.GPUs > 0 {
			command = append(command, "--ranks", strconv.Itoa(job.Ranks()))
		}
		return command
	}
	return nil
}

// resources returns the requests of a job, and equal limits for a guaranteed one.
func resources(job workload.Job) corev1.ResourceRequirements {
	list := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse(job.CPU.String()),
		corev1.ResourceMemory: resource.MustParse(memoryRequest),
	}
	if job.Kind != guaranteed {
		return corev1.ResourceRequirements{Requests: list}
	}
	list[corev1.ResourceMemory] = resource.MustParse(memoryLimit)
	return corev1.ResourceRequirements{Requests: list, Limits: list.DeepCopy()}
}
