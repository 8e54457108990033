package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// ErrNotInstalled means that the cluster has no Trellis.
var ErrNotInstalled = errors.New("this cluster has no Trellis: kubectl apply -k deploy/base, and label the nodes with GPUs gpushare=true")

// Expectation is the required state of a cluster before a benchmark begins.
type Expectation struct {
	// Nodes is the least number of nodes that share a GPU. Policy is the share policy of all of them; empty means
	// any.
	Nodes  int
	Policy string
	// Probe is a pod that asks for a share. It is created as a dry run.
	Probe *corev1.Pod
}

// AwaitReady waits until Trellis is ready for pods: the tuner answers and has read the bus, enough nodes share a GPU
// under the expected policy, and admission turns the probe's annotation into a limit. say receives the reasons for
// waiting.
func (c *Connection) AwaitReady(ctx context.Context, want Expectation, say func(string)) error {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	said := ""
	for {
		waiting := c.ready(ctx, want)
		switch {
		case waiting == nil:
			return nil
		case errors.Is(waiting, ErrNotInstalled):
			return waiting
		case waiting.Error() != said && ctx.Err() == nil:
			said = waiting.Error()
			say("waiting: " + said)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not ready for jobs: %s (%w)", said, context.Cause(ctx))
		case <-ticker.C:
		}
	}
}

// Installed returns ErrNotInstalled if the cluster has no Trellis, or the error of the API server.
func (c *Connection) Installed(ctx context.Context) error {
	_, err := c.Kubernetes.CoreV1().Services(Namespace).Get(ctx, Tuner, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return ErrNotInstalled
	} else if err != nil {
		return fmt.Errorf("asking the API server: %w", err)
	}
	return nil
}

func (c *Connection) ready(ctx context.Context, want Expectation) error {
	if err := c.Installed(ctx); err != nil {
		return err
	}
	state, err := c.State(ctx)
	if err != nil {
		return err
	}
	if !state.Synced {
		return errors.New("the tuner has not read the bus yet")
	}
	sharing := 0
	for _, n := range state.Nodes {
		if n.GPUs == nil || len(n.GPUs.GPUs) == 0 || n.Load == nil {
			continue
		}
		if want.Policy != "" && n.Load.Policy != want.Policy {
			return fmt.Errorf("the coordinator of %s still has policy %s", n.Name, n.Load.Policy)
		}
		sharing++
	}
	if sharing < want.Nodes {
		return fmt.Errorf("%d of %d nodes have a device plugin and a coordinator at work", sharing, want.Nodes)
	}
	return c.admits(ctx, want.Probe)
}

// admits checks that admission sets the probe's limit.
func (c *Connection) admits(ctx context.Context, probe *corev1.Pod) error {
	made, err := c.Kubernetes.CoreV1().Pods(probe.Namespace).Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return fmt.Errorf("admission of a pod: %w", err)
	}
	for _, container := range made.Spec.Containers {
		if _, ok := container.Resources.Limits[corev1.ResourceName(gpushare.Resource)]; ok {
			return nil
		}
	}
	return fmt.Errorf("admission does not turn annotation %s into a limit yet", gpushare.MemoryAnnotation)
}

// Containers returns the status of the containers of Trellis that run one of its binaries.
func (c *Connection) Containers(ctx context.Context, binary string) ([]corev1.ContainerStatus, error) {
	pods, err := c.Kubernetes.CoreV1().Pods(Namespace).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=" + binary})
	if err != nil {
		return nil, fmt.Errorf("listing the pods of %s: %w", binary, err)
	}
	var found []corev1.ContainerStatus
	for _, pod := range pods.Items {
		for _, status := range pod.Status.ContainerStatuses {
			if status.Name == binary {
				found = append(found, status)
			}
		}
	}
	return found, nil
}

// machineImage is the prefix of the local cluster's image of empty folders, over which pods mount the machine's own.
const machineImage = "trellis.local/machine:"

// MachineImage returns the local cluster's image for jobs. Kubelet lists a new image some seconds after it was
// loaded.
func (c *Connection) MachineImage(ctx context.Context, patience time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		nodes, err := c.Kubernetes.CoreV1().Nodes().List(ctx, metav1.ListOptions{Limit: 100})
		if err != nil {
			return "", fmt.Errorf("listing nodes: %w", err)
		}
		if image, ok := findImage(nodes.Items, machineImage); ok {
			return image, nil
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("no node has an image %s…: name one with PyTorch and scikit-learn by --image, and its interpreter by --python", machineImage)
		case <-time.After(time.Second):
		}
	}
}

func findImage(nodes []corev1.Node, prefix string) (string, bool) {
	for _, node := range nodes {
		for _, image := range node.Status.Images {
			for _, name := range image.Names {
				if strings.HasPrefix(name, prefix) {
					return name, true
				}
			}
		}
	}
	return "", false
}
