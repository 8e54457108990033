package workers

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// number is the number of workers in an owner, at a version of it.
type number struct {
	workers int
	version string
	// completions is set for a Job that ends when each of its workers has: both numbers change together.
	completions bool
	// most bounds the workers that would run; 0 if nothing does.
	most int
	// fixed is why the number cannot be changed.
	fixed string
}

// refuses returns why the owner cannot have a number of workers, or "".
func (n number) refuses(workers int) string {
	if n.fixed == "" && n.most > 0 && workers > n.most {
		return fmt.Sprintf("its Job runs no more pods than its completions that are left (%d): ", n.most) + otherCompletions
	}
	return n.fixed
}

// otherCompletions is what a user does whose Job lacks completions for more workers. The API server sets both numbers to 1 if its user sets
// neither.
const otherCompletions = "set parallelism and leave completions out, or make it Indexed with equal numbers"

// scales has the paths of resources with the subresource scale, by API version and kind; empty if a kind has none.
type scales map[[2]string]string

// read reads the number of workers of an owner.
func (c *Changer) read(ctx context.Context, o owner) (number, error) {
	if o.Kind == "Job" && strings.HasPrefix(o.APIVersion, "batch/") {
		found, err := c.Client.BatchV1().Jobs(o.Namespace).Get(ctx, o.Name, metav1.GetOptions{})
		if err != nil || found.UID != o.UID {
			return number{}, err
		}
		return ofJob(found), nil
	}
	path, err := c.scalePath(o)
	if err != nil || path == "" {
		return number{fixed: fmt.Sprintf("its owner, the %s %s, has no subresource scale", o.Kind, o.Name)}, err
	}
	body, err := c.Client.Discovery().RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json").DoRaw(ctx)
	if err != nil {
		return number{}, err
	}
	var scale autoscalingv1.Scale
	if err := json.Unmarshal(body, &scale); err != nil {
		return number{}, fmt.Errorf("%s: %w", path, err)
	}
	if scale.UID != o.UID {
		return number{}, nil
	}
	return number{workers: int(scale.Spec.Replicas), version: scale.ResourceVersion}, nil
}

func ofJob(j *batchv1.Job) number {
	n := number{version: j.ResourceVersion}
	if above := metav1.GetControllerOf(j); above != nil && above.Kind != "CronJob" {
		n.fixed = fmt.Sprintf("its Job belongs to the %s %s, which sets the number", above.Kind, above.Name)
	}
	if j.Spec.Parallelism != nil && (j.Spec.Suspend == nil || !*j.Spec.Suspend) {
		n.workers = int(*j.Spec.Parallelism)
	}
	return n.withCompletions(j)
}

// withCompletions adds what the completions of a Job permit. The Job controller starts no more pods than are left of them, and each pod
// of a Job that is not Indexed is a work item, not a worker of one job.
func (n number) withCompletions(j *batchv1.Job) number {
	if j.Spec.Completions == nil {
		return n
	}
	completions := int(*j.Spec.Completions)
	indexed := j.Spec.CompletionMode != nil && *j.Spec.CompletionMode == batchv1.IndexedCompletion
	switch {
	case indexed && completions == n.workers:
		n.completions = true
	case indexed:
		n.most = max(completions-int(j.Status.Succeeded), 1)
	case n.fixed == "":
		n.fixed = fmt.Sprintf("its Job runs as many pods as its completions (%d) in all, with any number of workers: ", completions) + otherCompletions
	}
	return n
}

// write changes the number of workers of an owner, unless it has changed since it was read.
func (c *Changer) write(ctx context.Context, o owner, n number, workers int) error {
	meta := map[string]any{"name": o.Name, "namespace": o.Namespace, "uid": o.UID, "resourceVersion": n.version}
	if o.Kind == "Job" {
		spec := map[string]any{"parallelism": workers}
		if n.completions {
			spec["completions"] = workers
		}
		patch, err := json.Marshal(map[string]any{"metadata": meta, "spec": spec})
		if err != nil {
			return err
		}
		_, err = c.Client.BatchV1().Jobs(o.Namespace).Patch(ctx, o.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	}
	path, err := c.scalePath(o)
	if err != nil || path == "" {
		return err
	}
	body, err := json.Marshal(map[string]any{
		"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": meta, "spec": map[string]any{"replicas": workers},
	})
	if err != nil {
		return err
	}
	return c.Client.Discovery().RESTClient().Put().AbsPath(path).SetHeader("Content-Type", "application/json").
		SetHeader("Accept", "application/json").Body(body).Do(ctx).Error()
}

// scalePath returns the path of an owner's scale; empty if its kind has none.
func (c *Changer) scalePath(o owner) (string, error) {
	kind := [2]string{o.APIVersion, o.Kind}
	format, known := c.scales[kind]
	if !known {
		list, err := c.Client.Discovery().ServerResourcesForGroupVersion(o.APIVersion)
		if err != nil {
			return "", err
		}
		format = scaleFormat(o, list.APIResources)
		if c.scales == nil {
			c.scales = scales{}
		}
		c.scales[kind] = format
	}
	if format == "" {
		return "", nil
	}
	return fmt.Sprintf(format, o.Namespace, o.Name), nil
}

// scaleFormat returns the path of the scales of a kind, with verbs for namespace and name.
func scaleFormat(o owner, resources []metav1.APIResource) string {
	root := "/apis/"
	if !strings.Contains(o.APIVersion, "/") {
		root = "/api/"
	}
	plural := ""
	for _, r := range resources {
		if r.Kind == o.Kind && r.Namespaced && !strings.Contains(r.Name, "/") {
			plural = r.Name
		}
	}
	for _, r := range resources {
		if plural != "" && r.Name == plural+"/scale" {
			return root + o.APIVersion + "/namespaces/%s/" + plural + "/%s/scale"
		}
	}
	return ""
}
