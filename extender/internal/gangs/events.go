package gangs

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/extender/internal/podevents"
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
			podevents.Writer{Client: p.Client, Log: p.Log}.Write(ctx, j.pods[member.UID].Ref, kind, reason, message)
		}
	}
}
