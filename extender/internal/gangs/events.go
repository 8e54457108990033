package gangs

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth/gang"
)

// announce records events on the pods of a gang when what happens to it has changed.
func (p *Placer) announce(ctx context.Context, j *job, d gang.Decision, placed bool) {
	switch {
	case placed:
		p.events(ctx, j, corev1.EventTypeNormal, "GangPlaced", fmt.Sprintf("All %d pods of %s have their room, and are bound now", j.Size, j.title))
	case d.Expired && d.State.Barred:
		p.events(ctx, j, corev1.EventTypeWarning, "GangReleased", fmt.Sprintf("The %d pods of %s had their room, but were not bound within %s. "+
			"Something else keeps a pod from its node, such as CPU: see the events of the scheduler. Their room is released for %s",
			j.Size, j.title, p.Limits.Hold, p.Limits.Rest))
	case d.Expired:
		p.events(ctx, j, corev1.EventTypeWarning, "GangReleased", fmt.Sprintf("%d of the %d pods of %s fit. They have kept their room for %s, and "+
			"release it now, so that other jobs can use it. The job is placed when all of its pods fit", d.Fit, j.Size, j.title, p.Limits.Hold))
	case !d.State.Held.IsZero() && !d.MayBind:
		p.events(ctx, j, corev1.EventTypeNormal, "GangWaits", wait(j, d, p.Limits))
	}
}

// events writes an event on each pod of a gang that is not bound, unless it was the last one already.
func (p *Placer) events(ctx context.Context, j *job, kind, reason, message string) {
	if reason == j.known.said {
		return
	}
	j.known.said = reason
	p.Log.Info("the placement of a gang has changed", "gang", j.Name, "event", reason, "message", message)
	switch reason {
	case "GangPlaced":
		p.Ended("placed")
	case "GangReleased":
		p.Ended("released")
	}
	for _, member := range j.Pods {
		if !member.Bound {
			p.event(ctx, j.pods[member.UID], kind, reason, message)
		}
	}
}

// event writes an event on a pod.
func (p *Placer) event(ctx context.Context, pod request.Pod, kind, reason, message string) {
	now := metav1.Now()
	_, err := p.Client.CoreV1().Events(pod.Ref.Namespace).Create(ctx, &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Ref.Namespace, Name: fmt.Sprintf("%.200s.%x", pod.Ref.Name, now.UnixNano())},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: "v1",
			Kind:       "Pod",
			Namespace:  pod.Ref.Namespace,
			Name:       pod.Ref.Name,
			UID:        types.UID(pod.Ref.UID),
		},
		Type:                kind,
		Reason:              reason,
		Message:             message,
		FirstTimestamp:      now,
		LastTimestamp:       now,
		Count:               1,
		Source:              corev1.EventSource{Component: "trellis-extender"},
		ReportingController: "trellis-extender",
	}, metav1.CreateOptions{})
	if err != nil {
		p.Log.Warn("an event could not be written", "pod", pod.Ref, "reason", reason, "err", err)
	}
}
