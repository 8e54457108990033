package gangs

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gang"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// release releases the reservations that a gang is not to have.
func (p *Placer) release(ctx context.Context, j *job, d gang.Decision, now time.Time) {
	j.known.state = d.State
	for i := range j.Pods {
		member := &j.Pods[i]
		if member.Node == "" || member.Bound || d.Room[member.UID] == member.Node || !p.mayRelease(j, member.UID, now) {
			continue
		}
		p.setRoom(member.UID, gang.Room{Wait: wait(j, d, p.Limits)})
		p.Rooms.Release(ctx, j.pods[member.UID].Ref, member.Node)
		member.Node = ""
		delete(j.known.held, member.UID)
		delete(j.known.woken, member.UID)
	}
}

// follow reserves the room of a gang. Once all of it is reserved, its pods may be bound.
func (p *Placer) follow(ctx context.Context, j *job, d gang.Decision, now time.Time) {
	complete := true
	for _, member := range j.Pods {
		node := d.Room[member.UID]
		if member.Bound || node == "" || node == member.Node {
			continue
		}
		if member.Node != "" {
			complete = false // another replica has reserved elsewhere for it
			continue
		}
		// A reservation that fails may have been written all the same.
		j.known.held[member.UID] = holding{node: node, since: now}
		if _, _, err := p.Rooms.Reserve(ctx, j.pods[member.UID], node); err != nil {
			p.Log.Debug("no room yet for a pod of a gang", "pod", j.pods[member.UID].Ref, "node", node, "err", err)
			complete = false
		}
	}
	running := d.MayBind && d.State.Full.IsZero()
	placed := d.MayBind && complete
	for _, member := range j.Pods {
		switch {
		case running:
			p.setRoom(member.UID, gang.Room{})
		case placed:
			p.setRoom(member.UID, gang.Room{Node: d.Room[member.UID]})
		default:
			p.setRoom(member.UID, gang.Room{Wait: wait(j, d, p.Limits)})
		}
	}
	p.announce(ctx, j, d, placed && !running)
	if placed {
		p.wake(ctx, j, d, now)
	}
}

func (p *Placer) setRoom(pod growth.PodUID, room gang.Room) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rooms[pod] = room
}

// wait says why the pods of a gang are not bound yet.
func wait(j *job, d gang.Decision, limits gang.Limits) string {
	fit := fmt.Sprintf("%d of the %d pods of %s fit", d.Fit, j.Size, j.title)
	switch {
	case d.Missing > 0:
		fit = fmt.Sprintf("%d of the %d pods of %s exist", len(j.Pods), j.Size, j.title)
	case d.MayBind:
		return fmt.Sprintf("the %d pods of %s get their room", j.Size, j.title)
	}
	if d.State.Held.IsZero() {
		return fit + ", and they are placed together"
	}
	return fmt.Sprintf("%s. They keep their room for up to %s, until all of them do", fit, limits.Hold)
}

// wake annotates the pods of a gang that may be bound, so that kube-scheduler tries them again. The value has the time, because
// an annotation with the same value is no change.
func (p *Placer) wake(ctx context.Context, j *job, d gang.Decision, now time.Time) {
	for _, member := range j.Pods {
		node := d.Room[member.UID]
		if woken := j.known.woken[member.UID]; member.Bound || node == "" || woken == node {
			continue
		}
		if err := p.annotate(ctx, j.pods[member.UID], string(node)+" "+now.UTC().Format(time.RFC3339)); err != nil {
			p.Log.Warn("a pod could not be annotated: kube-scheduler may try it again in minutes", "pod", j.pods[member.UID].Ref, "err", err)
			continue
		}
		j.known.woken[member.UID] = node
	}
}

func (p *Placer) annotate(ctx context.Context, pod request.Pod, value string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid":         pod.Ref.UID,
		"annotations": map[string]string{gpushare.PlacedAnnotation: value},
	}})
	if err != nil {
		return err
	}
	_, err = p.Client.CoreV1().Pods(pod.Ref.Namespace).Patch(ctx, pod.Ref.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // it is gone
	}
	return err
}
