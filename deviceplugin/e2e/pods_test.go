//go:build e2e && linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet/contract"
)

const (
	podsPath = "/api/v1/namespaces/" + contract.Namespace + "/pods"
	// timeout bounds the start and the end of a pod: many cases share a core, and kubelet retries slowly.
	timeout = 2 * time.Minute
)

// pods creates pods through the API server, bound to the node by name.
type pods struct {
	t    *testing.T
	node *node
}

func (p *pods) Start(pod contract.Pod) error {
	p.t.Helper()
	return p.start(manifest(pod))
}

// start runs a pod. It returns once the containers run, or with kubelet's reason for rejecting the pod.
func (p *pods) start(pod *corev1.Pod) error {
	p.t.Helper()
	// A new namespace has no service account at first.
	require.Eventually(p.t, func() bool { return p.node.api.Create(p.t.Context(), podsPath, pod) == nil }, timeout,
		200*time.Millisecond, pod.Name)
	p.t.Cleanup(func() { p.evict(pod.Name, nil) })
	var reason error
	p.awaitPod(pod.Name, "runs or is rejected", func(now corev1.Pod, there bool) bool {
		if there && now.Status.Phase == corev1.PodFailed {
			reason = errors.New(now.Status.Reason + ": " + now.Status.Message)
		}
		return there && (reason != nil || now.Status.Phase == corev1.PodRunning && running(now))
	})
	return reason
}

func running(pod corev1.Pod) bool {
	for _, c := range pod.Status.ContainerStatuses {
		if c.State.Running == nil {
			return false
		}
	}
	return len(pod.Status.ContainerStatuses) > 0
}

func (p *pods) End(pod string) {
	p.t.Helper()
	p.evict(pod, nil)
	p.awaitPod(pod, "is gone", func(_ corev1.Pod, there bool) bool { return !there })
}

// EndAsync gives the pod a grace period, so that the next pod arrives before it has ended.
func (p *pods) EndAsync(pod string) {
	p.evict(pod, new(int64(10)))
}

// evict deletes a pod by an eviction, which is a POST request, and ignores missing pods. grace is in seconds, or nil
// for the pod's own.
func (p *pods) evict(pod string, grace *int64) {
	_ = p.node.api.Create(context.WithoutCancel(p.t.Context()), podsPath+"/"+pod+"/eviction", policyv1.Eviction{
		TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "Eviction"}, ObjectMeta: metav1.ObjectMeta{Name: pod},
		DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: grace},
	})
}

func (p *pods) Kill(pod, container string) {
	p.t.Helper()
	before, _, _ := p.node.pod(pod)
	pids := p.processes(pod, container)
	require.NotEmpty(p.t, pids)
	for _, pid := range pids {
		require.NoError(p.t, syscall.Kill(pid, syscall.SIGKILL))
	}
	p.awaitPod(pod, container+" runs again", func(now corev1.Pod, _ bool) bool {
		return status(now, container).RestartCount > status(before, container).RestartCount &&
			status(now, container).State.Running != nil
	})
}

func status(pod corev1.Pod, container string) corev1.ContainerStatus {
	for _, s := range pod.Status.ContainerStatuses {
		if s.Name == container {
			return s
		}
	}
	return corev1.ContainerStatus{}
}

// awaitPod waits until holds returns true.
func (p *pods) awaitPod(name, what string, holds func(pod corev1.Pod, there bool) bool) {
	p.t.Helper()
	expired := time.After(timeout)
	for {
		pod, there, changed := p.node.pod(name)
		if holds(pod, there) {
			return
		}
		select {
		case <-changed:
		case <-expired:
			require.FailNow(p.t, fmt.Sprintf("%s %s: not within %s", name, what, timeout), "%+v", pod.Status)
		}
	}
}

// manifest returns a pod that sleeps. Its init containers end at once.
func manifest(p contract.Pod) *corev1.Pod {
	disabled := false
	grace := int64(1)
	always := corev1.ContainerRestartPolicyAlways
	made := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: p.Name},
		Spec: corev1.PodSpec{
			NodeName: nodeName, HostNetwork: true, TerminationGracePeriodSeconds: &grace,
			AutomountServiceAccountToken: &disabled, EnableServiceLinks: &disabled,
		},
	}
	for _, dir := range []string{"usr", "bin", "lib", "lib64"} {
		made.Spec.Volumes = append(made.Spec.Volumes, corev1.Volume{
			Name: dir, VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/" + dir}},
		})
	}
	for _, c := range p.Containers {
		one := corev1.Container{
			Name: c.Name, Image: "trellis.local/pause:1", Command: []string{program, "3600"},
			Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceName(
				p.Resource): *resource.NewQuantity(int64(c.Units), resource.DecimalSI)}},
		}
		for _, v := range made.Spec.Volumes {
			one.VolumeMounts = append(one.VolumeMounts, corev1.VolumeMount{
				Name:      v.Name,
				MountPath: v.HostPath.Path,
				ReadOnly:  true,
			})
		}
		switch c.Kind {
		case contract.App:
			made.Spec.Containers = append(made.Spec.Containers, one)
			continue
		case contract.Init:
			one.Command = []string{"/bin/true"}
		case contract.Sidecar:
			one.RestartPolicy = &always
		}
		made.Spec.InitContainers = append(made.Spec.InitContainers, one)
	}
	return made
}
