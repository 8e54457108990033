package workers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/elastic"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// owner is the object with the number of workers of a job.
type owner struct {
	APIVersion, Kind, Namespace, Name string
	UID                               types.UID
}

func (o owner) String() string { return fmt.Sprintf("%s %s/%s", o.Kind, o.Namespace, o.Name) }

// job is an elastic job.
type job struct {
	owner owner
	spec  gpushare.Spec
	// pods have not ended, and are sorted by name.
	pods []*corev1.Pod
	// number is the number of workers in the owner, once it was read.
	number number
	// refused is the recommended number that the owner cannot have; 0 if there is none.
	refused int
}

// jobs returns the elastic jobs of a namespace.
func (c *Changer) jobs(ctx context.Context, namespace string) ([]*job, error) {
	list, err := c.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	byOwner := map[types.UID]*job{}
	var jobs []*job
	for i := range list.Items {
		pod := &list.Items[i]
		controller := metav1.GetControllerOf(pod)
		if controller == nil || ended(pod) || pod.DeletionTimestamp != nil || pod.Annotations[gpushare.ElasticAnnotation] == "" {
			continue
		}
		spec, err := request.Spec(pod)
		if err != nil || !spec.Allows(gpushare.TuneWorkers) {
			continue
		}
		of, err := c.top(ctx, owner{controller.APIVersion, controller.Kind, namespace, controller.Name, controller.UID})
		if err != nil {
			return nil, err
		}
		j := byOwner[of.UID]
		if j == nil {
			j = &job{owner: of, spec: spec}
			byOwner[of.UID] = j
			jobs = append(jobs, j)
		}
		j.pods = append(j.pods, pod)
	}
	return jobs, nil
}

// top returns the Deployment of a ReplicaSet, or another object that controls it; any other owner is its own.
func (c *Changer) top(ctx context.Context, o owner) (owner, error) {
	if o.Kind != "ReplicaSet" {
		return o, nil
	}
	set, err := c.Client.AppsV1().ReplicaSets(o.Namespace).Get(ctx, o.Name, metav1.GetOptions{})
	if err != nil {
		return o, err
	}
	if above := metav1.GetControllerOf(set); above != nil {
		return owner{above.APIVersion, above.Kind, o.Namespace, above.Name, above.UID}, nil
	}
	return o, nil
}

// look observes a job, after its record was read.
func (c *Changer) look(ctx context.Context, j *job, change elastic.Change) (elastic.Seen, error) {
	s := elastic.Seen{Range: j.spec.Elastic, Blocked: j.blocked(change)}
	var err error
	if j.number, err = c.read(ctx, j.owner); err != nil {
		return s, err
	}
	s.Workers = j.number.workers
	advised, err := c.advised(ctx, j)
	s.Advised, s.AdvisedFrom, s.Why = advised.Workers, advised.From, advised.Reason
	wanted := s.Advised
	if change.Going() {
		wanted = change.To
	}
	s.Blocked = cmp.Or(j.number.refuses(wanted), s.Blocked)
	s.Saved, s.Failed = j.answers(change.ID)
	return s, err
}

// advised returns the recommended number of workers; the zero value if there is none.
func (c *Changer) advised(ctx context.Context, j *job) (elastic.Recommendation, error) {
	for _, pod := range j.pods {
		key := bus.AdviceKey(growth.PodUID(pod.UID))
		entries, _, err := c.Bus.List(ctx, key)
		if err != nil {
			return elastic.Recommendation{}, err
		}
		for _, entry := range entries {
			if advice, err := bus.Decode[bus.Advice](entry.Value); err == nil && entry.Key == key && advice.Width != nil {
				return advice.Width.Recommendation, nil
			}
		}
	}
	return elastic.Recommendation{}, nil
}

// blocked returns why the number of workers of a job must not be changed now.
func (j *job) blocked(change elastic.Change) string {
	if j.spec.Checkpoint == gpushare.CheckpointNone {
		return "its annotation " + gpushare.CheckpointAnnotation + " is none: it cannot save"
	}
	for _, pod := range j.pods {
		switch {
		case gpushare.IsPaused(pod.Annotations):
			return "it is paused"
		case pod.Annotations[gpushare.MoveAnnotation] != "":
			return "it moves to another node"
		case pod.Status.Phase != corev1.PodRunning && change.State != elastic.Scaling:
			return fmt.Sprintf("its pod %s does not run", pod.Name)
		}
	}
	return ""
}

// answers returns whether all pods have saved for a request, or why one of them could not.
func (j *job) answers(request string) (saved bool, failed string) {
	saved = true
	for _, pod := range j.pods {
		of, rest, _ := strings.Cut(pod.Annotations[gpushare.SavedAnnotation], " ")
		answer, err := gpushare.ParseSaved(pod.Annotations[gpushare.SavedAnnotation])
		switch {
		case of != request || request == "":
			saved = false
		case err != nil || answer.Failed != "":
			return false, strings.TrimPrefix(rest, "failed: ")
		}
	}
	return saved, ""
}

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}
