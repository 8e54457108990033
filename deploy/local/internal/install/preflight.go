package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// Check determines what happens if a cluster lacks something that Trellis needs.
type Check int

const (
	// CheckOff skips the check.
	CheckOff Check = iota
	// CheckWarn prints what is missing, and continues.
	CheckWarn
	// CheckStrict fails before anything is changed.
	CheckStrict
)

// preflight checks the cluster before anything is changed.
func (c Config) preflight(ctx context.Context, out io.Writer) error {
	if c.Check == CheckOff {
		return nil
	}
	var errs []error
	for _, check := range []func(context.Context) error{c.checkVersion, c.checkNodes, c.checkStorage} {
		errs = append(errs, check(ctx))
	}
	err := errors.Join(errs...)
	if err == nil || c.Check == CheckStrict {
		return err
	}
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintln(out, "warning: "+strings.TrimSpace(line))
	}
	return nil
}

// ServerVersion is the version of the API server, such as v1.36.4.
func (k Kubectl) ServerVersion(ctx context.Context) (version string, minor int, err error) {
	out, err := k.run(ctx, nil, "version", "-o", "json")
	if err != nil {
		return "", 0, err
	}
	var answer struct {
		ServerVersion struct{ GitVersion, Major, Minor string }
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		return "", 0, fmt.Errorf("decode kubectl version: %w", err)
	}
	// Some distributions write "36+".
	minor, err = strconv.Atoi(strings.TrimRight(answer.ServerVersion.Minor, "+"))
	if err != nil {
		return "", 0, fmt.Errorf("version of the API server: %w", err)
	}
	return answer.ServerVersion.GitVersion, minor, nil
}

func (c Config) checkVersion(ctx context.Context) error {
	version, minor, err := c.Kubectl.ServerVersion(ctx)
	if err != nil {
		return err
	}
	if minor < minMinor {
		return fmt.Errorf("the cluster runs Kubernetes %s: Trellis needs 1.%d or newer", version, minMinor)
	}
	return nil
}

func (c Config) checkNodes(ctx context.Context) error {
	var nodes struct {
		Items []struct {
			Metadata struct {
				Name   string
				Labels map[string]string
			}
			Status struct{ Allocatable map[string]string }
		}
	}
	if err := c.Kubectl.get(ctx, &nodes, "nodes"); err != nil {
		return err
	}
	var candidates []string
	for _, node := range nodes.Items {
		if node.Metadata.Labels[gpushare.NodeLabel] == "true" {
			return nil
		}
		if node.Metadata.Labels["nvidia.com/gpu.present"] == "true" || node.Status.Allocatable["nvidia.com/gpu"] != "" {
			candidates = append(candidates, node.Metadata.Name)
		}
	}
	if len(candidates) == 0 {
		candidates = []string{"NODE"}
	}
	slices.Sort(candidates)
	return fmt.Errorf("no node has the label %s=true, which selects the nodes whose GPUs are shared: kubectl label nodes %s %s=true",
		gpushare.NodeLabel, strings.Join(candidates, " "), gpushare.NodeLabel)
}

func (c Config) checkStorage(ctx context.Context) error {
	manifests, err := c.render(ctx, "")
	if err != nil {
		return err
	}
	wanted, err := claimWithoutClass(manifests)
	if err != nil || wanted == "" {
		return err
	}
	var classes struct {
		Items []struct {
			Metadata struct{ Annotations map[string]string }
		}
	}
	if err := c.Kubectl.get(ctx, &classes, "storageclasses"); err != nil {
		return err
	}
	for _, class := range classes.Items {
		if class.Metadata.Annotations["storageclass.kubernetes.io/is-default-class"] == "true" {
			return nil
		}
	}
	var existing object
	if err := c.Kubectl.get(ctx, &existing, "persistentvolumeclaims", "--namespace="+Namespace, "--ignore-not-found", wanted); err != nil {
		return err
	}
	if existing.Metadata.Name != "" {
		return nil
	}
	return fmt.Errorf("the cluster has no default StorageClass for the bus's volume: mark one as default, create the "+
		"PersistentVolumeClaim %s in namespace %s, or add --component ephemeral-bus to try Trellis without a volume", wanted, Namespace)
}
