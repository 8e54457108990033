package workers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trellis-gpu/trellis/extender/internal/podevents"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth/elastic"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// act does what a record says. The rest follows in the next pass.
func (c *Changer) act(ctx context.Context, j *job, change elastic.Change) error {
	switch change.State {
	case elastic.Saving:
		return c.annotate(ctx, j, change.ID, &change.ID)
	case elastic.Scaling:
		if j.number.workers != change.From {
			return nil
		}
		err := c.write(ctx, j.owner, j.number, change.To)
		if err == nil || apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			return nil // the next pass sees what it is now
		}
		return fmt.Errorf("changing its number of workers: %w", err)
	}
	return c.annotate(ctx, j, change.ID, nil)
}

// annotate asks all pods to save, or removes the request; nil removes it. Pods with the request of another are left alone.
func (c *Changer) annotate(ctx context.Context, j *job, id string, request *string) error {
	var errs []error
	for _, pod := range j.pods {
		present := pod.Annotations[gpushare.SaveAnnotation]
		if request != nil && present == id || request == nil && (present != id || id == "") {
			continue
		}
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"uid":             pod.UID,
			"resourceVersion": pod.ResourceVersion,
			"annotations":     map[string]*string{gpushare.SaveAnnotation: request},
		}})
		if err != nil {
			return err
		}
		_, err = c.Client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("annotating pod %s: %w", pod.Name, err))
		}
	}
	return errors.Join(errs...)
}

// announce reports a new state: an event on the first pod, and the log.
func (c *Changer) announce(ctx context.Context, j *job, change elastic.Change) {
	c.Log.Info("the number of workers of a job", "owner", j.owner.String(), "state", change.State, "from", change.From, "to", change.To, "why", change.Why)
	numbers := fmt.Sprintf("%d → %d workers", change.From, change.To)
	switch change.State {
	case elastic.Saving:
		c.event(ctx, j, corev1.EventTypeNormal, "WorkersChanging", fmt.Sprintf("%s. The job saves first", change.Why))
	case elastic.Changed:
		c.event(ctx, j, corev1.EventTypeNormal, "WorkersChanged", fmt.Sprintf("%s: the %s has the new number. Change %d of at most %d",
			numbers, j.owner.Kind, change.Made, c.Limits.Changes))
	case elastic.Abandoned:
		c.event(ctx, j, corev1.EventTypeWarning, "WorkersNotChanged", fmt.Sprintf("%s was not done: %s", numbers, change.Why))
	}
}

// explain says once why the owner of a job cannot have the recommended number. Reasons that pass, such as a pause, are no event.
func (c *Changer) explain(ctx context.Context, j *job, s elastic.Seen) {
	why := j.number.refuses(s.Advised)
	if why == "" {
		return
	}
	j.refused = s.Advised
	if c.explained[j.owner.UID] != s.Advised {
		podevents.Writer{Client: c.Client, Log: c.Log}.WriteOnce(ctx, request.Ref(j.pods[0]), corev1.EventTypeWarning, "WorkersNotChanged",
			fmt.Sprintf("%d → %d workers was not done: %s", s.Workers, s.Advised, why))
	}
}

// event writes an event on the job's first pod.
func (c *Changer) event(ctx context.Context, j *job, kind, reason, message string) {
	podevents.Writer{Client: c.Client, Log: c.Log}.Write(ctx, request.Ref(j.pods[0]), kind, reason, message)
}
