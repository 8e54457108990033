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

const (
	resource = gpushare.Resource
	// pause is how often the cluster is asked.
	pause = time.Second
)

// nonsense is a pod that the admission policies must refuse once they are in force.
const nonsense = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"trellis-probe","namespace":"default",` +
	`"annotations":{"` + gpushare.MemoryAnnotation + `":"none"}},"spec":{"containers":[{"name":"c","image":"i"}]}}`

// waitReady waits until everything runs, and writes what is missing whenever that changes.
func (k kubectl) waitReady(ctx context.Context, patience time.Duration, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var said []string
	for {
		missing, err := k.missing(ctx)
		if err == nil && len(missing) == 0 {
			return nil
		}
		if err == nil && !slices.Equal(missing, said) {
			fmt.Fprintln(out, "waiting for "+strings.Join(missing, "; "))
			said = missing
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not ready after %s: %s%s", patience, strings.Join(said, "; "), k.lastWords())
		case <-time.After(pause):
		}
	}
}

func (k kubectl) missing(ctx context.Context) ([]string, error) {
	var workloads struct{ Items []workload }
	var pods struct{ Items []agent }
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
	missing := unready(workloads.Items, pods.Items, nodes.Items)
	if _, err := k.run(ctx, []byte(nonsense), "create", "--dry-run=server", "-f", "-"); err == nil {
		missing = append(missing, "the admission policies to be in force")
	}
	return missing, nil
}

// lastWords are the ends of the logs of the pods that are not Ready, for the one who has to find out why.
func (k kubectl) lastWords() string {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var pods struct{ Items []agent }
	if err := k.get(ctx, &pods, "pods", "-n", Namespace); err != nil {
		return "\n" + err.Error()
	}
	var words strings.Builder
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
			fmt.Fprintf(&words, "\n%s, %s:\n%s", p.Metadata.Name, c.Name, log)
		}
	}
	return words.String()
}
