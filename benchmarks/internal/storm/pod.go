package storm

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/benchmarks/internal/training"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// pod returns a pod that reports its devices (see script). It runs a shell of this machine. It uses the node's network,
// because such a pod starts faster.
func (s *Storm) pod(p Pod) *corev1.Pod {
	no, grace := false, int64(1)
	stays := fmt.Sprintf("%.3f", p.Stays.Seconds())
	if p.Standing {
		stays = "gate"
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.namespace, Name: p.Name,
			Annotations: map[string]string{gpushare.MemoryAnnotation: fmt.Sprintf("%dGi", p.Units), gpushare.TuneAnnotation: "none"},
		},
		Spec: corev1.PodSpec{
			// Like a training job's. A kubelet that dies while it creates a container leaves the container failed.
			RestartPolicy: corev1.RestartPolicyOnFailure, HostNetwork: true,
			AutomountServiceAccountToken: &no, EnableServiceLinks: &no, TerminationGracePeriodSeconds: &grace,
			Containers: []corev1.Container{{
				Name: "main", Image: s.image, Command: []string{"/bin/sh", "-c", script, "storm", stays},
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1m")}},
			}},
		},
	}
	folders := map[string]string{"/gate": s.gate()}
	for _, folder := range training.MachineFolders() {
		folders[folder] = folder
	}
	for inside, outside := range folders {
		name := strings.Trim(inside, "/")
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{
			Name: name, VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: outside}},
		})
		pod.Spec.Containers[0].VolumeMounts = append(pod.Spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: name, MountPath: inside, ReadOnly: true})
	}
	return pod
}

// fate returns the final state of a pod.
func fate(pod *corev1.Pod) Fate {
	f := Fate{
		UID: growth.PodUID(pod.UID), Node: pod.Spec.NodeName, Well: pod.Status.Phase == corev1.PodSucceeded,
		Annotated: pod.Annotations[gpushare.GPUAnnotation],
	}
	f.Refusals, _ = strconv.Atoi(pod.Annotations[gpushare.RefusalsAnnotation])
	why := []string{string(pod.Status.Phase), pod.Status.Reason, pod.Status.Message}
	for _, c := range pod.Status.ContainerStatuses {
		if ended := c.State.Terminated; ended != nil {
			f.Said = ended.Message
			why = append(why, ended.Reason, fmt.Sprintf("exit code %d", ended.ExitCode))
		} else if waiting := c.State.Waiting; waiting != nil {
			why = append(why, waiting.Reason, waiting.Message)
		}
	}
	if !f.Well {
		f.Why = strings.Join(strings.Fields(strings.Join(why, " ")), " ")
	}
	return f
}

func running(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodRunning && len(pod.Status.ContainerStatuses) > 0 && pod.Status.ContainerStatuses[0].State.Running != nil
}
