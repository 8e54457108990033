package cluster

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	// unmeasured are settings that no figure depends on, or that a summary shows elsewhere.
	unmeasured = []string{"--log-level", "--gpus"}
	// measuredArgs are the arguments that figures depend on. All others are addresses, paths and certificates.
	measuredArgs = []string{"--unsafe-no-fsync", "--enforce"}
)

// Settings reads the settings of Trellis from the cluster's workloads. A key names the workload and the flag, such as
// "coordinator --interval".
func (c *Connection) Settings(ctx context.Context) (map[string]string, error) {
	s := settings{connection: c, found: map[string]string{}}
	daemons, err := c.Kubernetes.AppsV1().DaemonSets(Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing the DaemonSets of Trellis: %w", err)
	}
	for _, d := range daemons.Items {
		err = s.read(ctx, d.Name, d.Spec.Template.Spec)
		if err != nil {
			return nil, err
		}
	}
	deployments, err := c.Kubernetes.AppsV1().Deployments(Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing the Deployments of Trellis: %w", err)
	}
	for _, d := range deployments.Items {
		if d.Spec.Replicas != nil {
			s.found[d.Name+" replicas"] = strconv.Itoa(int(*d.Spec.Replicas))
		}
		err = s.read(ctx, d.Name, d.Spec.Template.Spec)
		if err != nil {
			return nil, err
		}
	}
	stores, err := c.Kubernetes.AppsV1().StatefulSets(Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing the StatefulSets of Trellis: %w", err)
	}
	for _, d := range stores.Items {
		err = s.read(ctx, d.Name, d.Spec.Template.Spec)
		if err != nil {
			return nil, err
		}
	}
	return s.found, nil
}

// settings collects the settings of several workloads.
type settings struct {
	connection *Connection
	found      map[string]string
}

// read adds the settings of a workload's first container, which runs the binary.
func (s settings) read(ctx context.Context, workload string, pod corev1.PodSpec) error {
	if pod.HostPID {
		s.found[workload+" hostPID"] = "true"
	}
	container := pod.Containers[0]
	for _, env := range container.Env {
		if env.Name == "GOGC" {
			s.found[workload+" GOGC"] = env.Value
		}
	}
	for _, arg := range container.Args {
		name, value, given := strings.Cut(arg, "=")
		if !given {
			value = "true"
		}
		if slices.Contains(measuredArgs, name) {
			s.found[workload+" "+name] = value
		}
	}
	for _, from := range container.EnvFrom {
		if from.ConfigMapRef == nil {
			continue
		}
		variables, err := s.connection.Kubernetes.CoreV1().ConfigMaps(Namespace).Get(ctx, from.ConfigMapRef.Name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("reading the settings of %s: %w", workload, err)
		}
		for variable, value := range variables.Data {
			if name := flagOf(variable); !slices.Contains(unmeasured, name) {
				s.found[workload+" "+name] = value
			}
		}
	}
	return nil
}

// flagOf is the flag that an environment variable sets: --log-level for TRELLIS_LOG_LEVEL.
func flagOf(variable string) string {
	return "--" + strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(variable, "TRELLIS_")), "_", "-")
}
