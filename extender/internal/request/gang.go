package request

import (
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/daemon/jobkind"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// Labels of the pods of a JobSet and of Kubeflow's training operator.
const (
	jobSetLabel         = "jobset.sigs.k8s.io/jobset-name"
	replicatedJobLabel  = "jobset.sigs.k8s.io/replicatedjob-name"
	replicasLabel       = "jobset.sigs.k8s.io/replicatedjob-replicas"
	kubeflowLabel       = "training.kubeflow.org/job-name"
	kubeflowNodesNumber = "PET_NNODES"
)

// Gang is a job whose pods are placed all or none.
type Gang struct {
	// Name is unique. Title names the job in events.
	Name, Title string
	// Size is the number of pods. If Job is set, it is the number of such Jobs, and the Job knows the pods of each.
	Size int
	Job  string
}

// gangOf returns the gang of a pod: by its annotation, or by its controller if its command is that of a distributed job.
func gangOf(pod *corev1.Pod) Gang {
	named, err := gpushare.ParseGang(pod.Annotations[gpushare.GangAnnotation])
	switch {
	case err != nil || named.Apart:
		return Gang{}
	case named.Size > 1:
		return Gang{Name: pod.Namespace + "/" + named.Name, Title: "gang " + named.Name, Size: named.Size}
	case named.Size == 1:
		return Gang{}
	}
	owner := metav1.GetControllerOf(pod)
	indexed := pod.Annotations[batchv1.JobCompletionIndexAnnotation] != ""
	kubeflow := pod.Labels[kubeflowLabel] != ""
	if owner == nil || !indexed && !kubeflow || !jobkind.Distributed(pod) {
		return Gang{}
	}
	name := pod.Namespace + "/" + string(owner.UID)
	set := pod.Labels[jobSetLabel]
	switch {
	case indexed && owner.Kind == "Job" && set != "":
		replicated := pod.Labels[replicatedJobLabel]
		jobs, _ := strconv.Atoi(pod.Labels[replicasLabel])
		return Gang{Name: pod.Namespace + "/" + jobkind.Owner(pod) + "/" + replicated, Title: "JobSet " + set, Size: max(1, jobs), Job: owner.Name}
	case indexed && owner.Kind == "Job":
		return Gang{Name: name, Title: "Job " + owner.Name, Size: 1, Job: owner.Name}
	}
	if size := number(pod, kubeflowNodesNumber); size > 1 {
		return Gang{Name: name, Title: owner.Kind + " " + owner.Name, Size: size}
	}
	return Gang{}
}

// number returns the value of an environment variable that is a number, else 0.
func number(pod *corev1.Pod, variable string) int {
	for _, c := range pod.Spec.Containers {
		for _, e := range c.Env {
			if e.Name == variable {
				n, _ := strconv.Atoi(e.Value)
				return n
			}
		}
	}
	return 0
}
