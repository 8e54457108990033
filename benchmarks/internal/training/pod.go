package training

import (
	"cmp"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// Labels of a benchmark's objects.
const (
	// RunLabel has the name of the run.
	RunLabel = "bench.trellis/run"
	// KindLabel has the job's kind.
	KindLabel = "bench.trellis/kind"
)

const (
	scriptsName       = "jobs"
	scriptsFolder     = "/jobs"
	checkpointsFolder = "/checkpoints"
	// saveEvery is the number of steps between two checkpoints, and so the most that a crash loses.
	saveEvery = 100
	// usualWorkers is the default of most examples. The tuner adjusts it to the node.
	usualWorkers = 2
	// graceSeconds leaves time for a last checkpoint.
	graceSeconds = 10
)

// Setup has the settings that all pods of a run share.
type Setup struct {
	Namespace string
	Run       string
	// Image contains the interpreter Python, unless MachineFolders are mounted over it.
	Image  string
	Python string
	// MachineFolders are folders of this machine that the pods mount read-only.
	MachineFolders []string
	// Nodes assigns jobs, by name, to nodes. The scheduler places all others. A comparison of share policies needs
	// the same jobs on each node.
	Nodes map[string]string
	// Computing are the nodes whose emulated GPUs compute. Jobs with an emulated GPU run there, all others elsewhere. Without
	// such nodes, all jobs compute on the CPU.
	Computing []string
	// NeedCPU is set if jobs on emulated GPUs prepare their data like others, and everything of theirs may change, CPU included.
	// Otherwise they need little CPU and keep their request, so that only turns have an effect.
	NeedCPU bool
}

// MachinePython is the distribution's interpreter.
const MachinePython = "/usr/bin/python3"

// MachineFolders lists the folders that a program of the distribution needs.
func MachineFolders() []string { return []string{"/usr", "/lib", "/lib64", "/bin", "/etc"} }

// Room returns the namespace of all objects of a run.
func (s Setup) Room() *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace, Labels: map[string]string{RunLabel: s.Run}}}
}

// Scripts returns the ConfigMap with the jobs' programs, by file name.
func (s Setup) Scripts(files map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: scriptsName, Labels: map[string]string{RunLabel: s.Run}},
		Data:       files,
	}
}

// Pod returns the pod of a job.
func (s Setup) Pod(job workload.Job) *corev1.Pod {
	no, grace := false, int64(graceSeconds)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace, Name: job.Name,
			Labels: map[string]string{RunLabel: s.Run, KindLabel: job.Kind},
			Annotations: map[string]string{
				gpushare.MemoryAnnotation:   job.GPUMemory,
				gpushare.MetricAnnotation:   job.Metric,
				gpushare.ProgressAnnotation: job.Progress,
			},
		},
		Spec: corev1.PodSpec{
			RestartPolicy:                 corev1.RestartPolicyOnFailure,
			AutomountServiceAccountToken:  &no,
			EnableServiceLinks:            &no,
			TerminationGracePeriodSeconds: &grace,
			Containers: []corev1.Container{{
				Name: "train", Image: s.Image, Command: append([]string{s.Python}, s.arguments(job)...),
				Env: []corev1.EnvVar{
					{Name: "PYTHONUNBUFFERED", Value: "1"},
					{Name: "PYTHONDONTWRITEBYTECODE", Value: "1"},
					{Name: "OMP_NUM_THREADS", Value: "1"},
				},
				Resources: resources(job),
			}},
		},
	}
	if s.emulates(job) && !s.NeedCPU {
		pod.Annotations[gpushare.TuneAnnotation] = emulatedTune
	}
	if job.GPUs > 1 {
		pod.Annotations[gpushare.CountAnnotation] = strconv.Itoa(job.GPUs)
	}
	pod.Spec.Affinity = s.affinity(job)
	if node := s.Nodes[job.Name]; node != "" {
		pod.Spec.NodeSelector = map[string]string{corev1.LabelHostname: node}
	}
	s.mount(pod, scriptsFolder, corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: scriptsName},
	}}, true)
	s.mount(pod, checkpointsFolder, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}, false)
	for _, folder := range s.MachineFolders {
		s.mount(pod, folder, corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: folder}}, true)
	}
	return pod
}

func (s Setup) arguments(job workload.Job) []string {
	if variant := variantArguments(job); variant != nil {
		return variant
	}
	model, progress := job.Kind, "shim"
	if model == guaranteed {
		model = guaranteedModel
	}
	if !job.UsesShim() {
		progress = "log"
	}
	command := []string{
		scriptsFolder + "/run.py", model,
		"--steps", strconv.Itoa(job.Steps),
		"--batch-size", strconv.Itoa(job.Batch),
		"--seed", strconv.FormatUint(uint64(job.Seed), 10),
		"--workers", strconv.Itoa(cmp.Or(job.Workers, usualWorkers)),
		"--save-every", strconv.Itoa(saveEvery),
		"--checkpoint-dir", checkpointsFolder,
		"--progress", progress,
	}
	if s.emulates(job) {
		command = append(command, s.emulatedArguments()...)
	}
	return append(command, job.Further...)
}

func (s Setup) mount(pod *corev1.Pod, folder string, source corev1.VolumeSource, readOnly bool) {
	name := strings.Trim(folder, "/")
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: source})
	container := &pod.Spec.Containers[0]
	container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: folder, ReadOnly: readOnly})
}
