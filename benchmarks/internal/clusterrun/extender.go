package clusterrun

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
)

// extender is the name of the extender's Deployment and of its container.
const extender = "extender"

// configure sets variables of the extender, and waits until only pods with them run.
func configure(ctx context.Context, c *cluster.Connection, variables map[string]string, patience time.Duration) error {
	patch, err := patchOf(variables)
	if err != nil {
		return err
	}
	deployments := c.Kubernetes.AppsV1().Deployments(cluster.Namespace)
	if _, err := deployments.Patch(ctx, extender, types.StrategicMergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("configuring the extender: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("the extender was not replaced within %s", patience))
	defer cancel()
	for {
		d, err := deployments.Get(ctx, extender, metav1.GetOptions{})
		if err == nil && rolledOut(d) {
			return nil
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// patchOf returns the patch that sets variables of the extender's container.
func patchOf(variables map[string]string) ([]byte, error) {
	var env []corev1.EnvVar
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		env = append(env, corev1.EnvVar{Name: name, Value: variables[name]})
	}
	type object = map[string]any
	return json.Marshal(object{"spec": object{"template": object{"spec": object{
		"containers": []object{{"name": extender, "env": env}},
	}}}})
}

// rolledOut reports whether all pods of a Deployment are of its present template, and available.
func rolledOut(d *appsv1.Deployment) bool {
	s := d.Status
	want := int32(1)
	if d.Spec.Replicas != nil {
		want = *d.Spec.Replicas
	}
	return s.ObservedGeneration >= d.Generation && s.UpdatedReplicas == want && s.Replicas == want && s.AvailableReplicas == want
}

// lookEvery is the time between two looks at the cluster.
const lookEvery = time.Second

// pause waits for the next look, or returns why ctx has ended.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(lookEvery):
		return nil
	}
}
