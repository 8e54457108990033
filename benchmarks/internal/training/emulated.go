package training

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
)

// emulatedTune lists what may change of a job on an emulated GPU: not its CPU, so that only turns have an effect.
const emulatedTune = "gpu-time,loaders"

// EmulatedPreprocess is the CPU that a job on an emulated GPU spends on each image, relative to the default. It is so small that
// the GPU is what the jobs compete for, also on a node with a single core.
const EmulatedPreprocess = 0.1

// emulatedArguments are the arguments of a job on an emulated GPU.
func (s Setup) emulatedArguments() []string {
	if s.NeedCPU {
		return []string{"--device", "emulated"}
	}
	return []string{"--device", "emulated", "--preprocess", strconv.FormatFloat(EmulatedPreprocess, 'g', -1, 64)}
}

// emulates reports whether a job computes on an emulated GPU.
func (s Setup) emulates(job workload.Job) bool {
	return job.Device == workload.Emulated && len(s.Computing) > 0
}

// affinity keeps jobs on emulated GPUs and others apart: a job that cannot be paused ends the turns of its GPU.
func (s Setup) affinity(job workload.Job) *corev1.Affinity {
	if len(s.Computing) == 0 {
		return nil
	}
	operator := corev1.NodeSelectorOpNotIn
	if s.emulates(job) {
		operator = corev1.NodeSelectorOpIn
	}
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{
					Key: corev1.LabelHostname, Operator: operator, Values: s.Computing,
				}},
			}},
		},
	}}
}
