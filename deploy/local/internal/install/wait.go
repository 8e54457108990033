package install

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// pollInterval is the time between two queries of the cluster.
const pollInterval = time.Second

// invalidPod is a pod that the admission policies must refuse once they are in force.
const invalidPod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"trellis-probe","namespace":"default",` +
	`"annotations":{"` + gpushare.MemoryAnnotation + `":"none"}},"spec":{"containers":[{"name":"c","image":"i"}]}}`

// waitReady waits until everything is ready. It prints what is missing whenever that changes.
func (k Kubectl) waitReady(ctx context.Context, resource string, timeout time.Duration, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var printed []string
	for {
		missing, err := k.missing(ctx, resource)
		if err == nil && len(missing) == 0 {
			return nil
		}
		if err == nil && !slices.Equal(missing, printed) {
			fmt.Fprintln(out, "waiting for "+strings.Join(missing, "; "))
			printed = missing
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not ready after %s: %s%s", timeout, strings.Join(printed, "; "), k.logsOfUnready())
		case <-time.After(pollInterval):
		}
	}
}

func (k Kubectl) missing(ctx context.Context, resource string) ([]string, error) {
	var workloads struct{ Items []workload }
	var pods struct{ Items []pod }
	var nodes struct{ Items []gpuNode }
	if err := k.get(ctx, &workloads, "deployments,statefulsets,daemonsets", "-n", Namespace); err != nil {
		return nil, err
	}
	if err := k.get(ctx, &pods, "pods", "-n", Namespace); err != nil {
		return nil, err
	}
	if err := k.get(ctx, &nodes, "nodes", "-l", gpushare.NodeLabel+"=true"); err != nil {
		return nil, err
	}
	missing := unready(workloads.Items, pods.Items, nodes.Items, resource)
	if _, err := k.run(ctx, []byte(invalidPod), "create", "--dry-run=server", "-f", "-"); err == nil {
		missing = append(missing, "the admission policies to be in force")
	}
	return missing, nil
}

// logsOfUnready returns the last lines of the logs of the containers that are not ready.
func (k Kubectl) logsOfUnready() string {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var pods struct{ Items []pod }
	if err := k.get(ctx, &pods, "pods", "-n", Namespace); err != nil {
		return "\n" + err.Error()
	}
	var text strings.Builder
	for _, p := range pods.Items {
		for _, c := range p.Status.ContainerStatuses {
			if c.Ready {
				continue
			}
			args := []string{"logs", "-n", Namespace, p.Metadata.Name, "-c", c.Name, "--tail=5"}
			if c.RestartCount > 0 && c.State.Waiting != nil {
				args = append(args, "--previous")
			}
			log, err := k.run(ctx, nil, args...)
			if err != nil {
				log = []byte(err.Error())
			}
			fmt.Fprintf(&text, "\n%s, %s:\n%s", p.Metadata.Name, c.Name, log)
		}
	}
	return text.String()
}
