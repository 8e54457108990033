package mover

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/move"
	"github.com/trellis-gpu/trellis/growth/rebalance"
)

// propose begins the moves that users ask for. A request on one pod of a gang is one to the gang.
func (m *Mover) propose(ctx context.Context, snapshot *cache.Snapshot, moves movesNow, now time.Time) error {
	var errs []error
	going, all := moves.inFlight(), map[string]requests{}
	for _, pod := range snapshot.Pods.All() {
		if _, tried := all[pod.Gang.Name]; tried || pod.Move == "" || pod.Node == "" || pod.Ended {
			continue
		}
		members := membersOf(snapshot, pod)
		if len(members) > 1 {
			all[pod.Gang.Name] = m.requests[pod.Gang.Name].with(members, now)
		}
		if moves.busy(members) {
			errs = append(errs, m.decline(ctx, members, moves))
			continue
		}
		if going >= maxActive || now.Sub(all[pod.Gang.Name].since) < settles {
			continue
		}
		began, err := m.begin(ctx, snapshot, members, moves, now)
		if err != nil {
			errs = append(errs, fmt.Errorf("pod %s: %w", pod.Ref, err))
		}
		if began {
			going++
		}
	}
	m.requests = all
	return errors.Join(errs...)
}

// settles is how long the requests to the pods of a gang must stay the same: users annotate one pod after another.
const settles = 2 * time.Second

// requests are the requests to the pods of a gang, since when they are so.
type requests struct {
	targets string
	since   time.Time
}

// with returns the present requests to the pods of a gang.
func (r requests) with(members []*request.Pod, now time.Time) requests {
	targets := make([]string, len(members))
	for i, pod := range members {
		targets[i] = pod.Move
	}
	if joined := strings.Join(targets, " "); joined != r.targets || r.since.IsZero() {
		return requests{joined, now}
	}
	return r
}

// busy reports whether one of the pods moves already.
func (n movesNow) busy(members []*request.Pod) bool {
	for _, record := range n.going() {
		for _, pod := range members {
			if record.Pod.UID == pod.Ref.UID {
				return true
			}
		}
	}
	return false
}

// begin writes the records of a move, in place of those of an earlier one, or refuses the move.
func (m *Mover) begin(ctx context.Context, snapshot *cache.Snapshot, members []*request.Pod, moves movesNow, now time.Time) (bool, error) {
	var pods, asking []*corev1.Pod
	for _, known := range members {
		pod, err := m.current(ctx, known.Ref)
		if pod == nil {
			return false, err // the snapshot lags
		}
		pods = append(pods, pod)
		if asked(pod) != "" {
			asking = append(asking, pod)
		}
	}
	if len(asking) == 0 {
		return false, nil // the snapshot lags
	}
	plan, why, err := m.plan(ctx, snapshot, members, pods)
	if err != nil {
		return false, err
	}
	if why == "" {
		return m.write(ctx, pods, plan, moves, now)
	}
	var errs []error
	for _, pod := range asking {
		errs = append(errs, m.refuse(ctx, pod, why))
	}
	return false, errors.Join(errs...)
}

// current returns a pod as it is now; nil if it is gone.
func (m *Mover) current(ctx context.Context, ref growth.PodRef) (*corev1.Pod, error) {
	pod, err := m.Client.CoreV1().Pods(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && growth.PodUID(pod.UID) != ref.UID {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return pod, nil
}

// refuse answers the request of a user with an event, and removes it.
func (m *Mover) refuse(ctx context.Context, pod *corev1.Pod, why string) error {
	m.event(ctx, request.Ref(pod), corev1.EventTypeWarning, "MoveRefused", why)
	return m.change(ctx, pod, changes{Annotations: map[string]*string{gpushare.MoveAnnotation: nil}})
}

// plan returns where each of the pods goes, or why the job is not moved.
func (m *Mover) plan(
	ctx context.Context, snapshot *cache.Snapshot, members []*request.Pod, pods []*corev1.Pod,
) ([]rebalance.Decision, string, error) {
	if len(pods) > 1 {
		return m.planTogether(ctx, snapshot, members, pods)
	}
	to := asked(pods[0])
	if to == gpushare.MoveAnywhere {
		to = ""
	}
	why, err := m.refusal(ctx, pods[0], to)
	if why == "" && err == nil {
		why, err = m.refusalByCheckpoint(ctx, &checks{client: m.Client}, []movingPod{{pod: pods[0], to: to}})
	}
	return []rebalance.Decision{{Pod: members[0].Ref, From: members[0].Node, To: to, Cause: move.Requested}}, why, err
}

// asked returns the node to which the user asks to move a pod, gpushare.MoveAnywhere, or "".
func asked(pod *corev1.Pod) growth.NodeName {
	return growth.NodeName(pod.Annotations[gpushare.MoveAnnotation])
}

// newID returns the ID of a new move. IDs grow with time, and those of one pass differ.
func (m *Mover) newID(now time.Time) string {
	m.last = max(m.last+1, now.UnixNano())
	return fmt.Sprintf("move-%016x", m.last)
}
