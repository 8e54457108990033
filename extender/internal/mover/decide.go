package mover

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/rebalance"
	"github.com/trellis-gpu/trellis/growth/specon"
)

const (
	// decideEvery is the time between two decisions about moves without a request.
	decideEvery = 10 * time.Second
	// maxRefused bounds the decisions that one pass gives up because the job turns out not to be movable.
	maxRefused = 8
	// refusedFor is how long such a job is left alone, and the time between two decisions of a dry run.
	refusedFor = 10 * time.Minute
)

// movesNow is what the bus has about moves in one pass.
type movesNow struct {
	// byPod are the records by the pod that moves, and revision is that of all of them.
	byPod    map[growth.PodUID]bus.Entry
	records  []bus.Move
	revision bus.Revision
}

// going returns the moves in flight.
func (n movesNow) going() (all []bus.Move) {
	for _, record := range n.records {
		if !record.Move.State.Final() {
			all = append(all, record)
		}
	}
	return all
}

// inFlight counts the moves in flight. That of several pods is one.
func (n movesNow) inFlight() int {
	ids := map[string]bool{}
	for _, record := range n.going() {
		ids[record.Move.ID] = true
	}
	return len(ids)
}

// decide begins a move without a request, if one is due. Two replicas do not begin moves at the same time: each wants that no
// record of a move was written since it read them.
func (m *Mover) decide(ctx context.Context, snapshot *cache.Snapshot, moves movesNow, now time.Time) error {
	if !m.Mode.decides() || now.Sub(m.decided) < decideEvery {
		return nil
	}
	m.decided = now
	m.explainFixed(ctx, snapshot)
	past, err := m.history(ctx)
	if err != nil {
		return err
	}
	if err := m.refresh(ctx, snapshot, past, now); err != nil {
		return err
	}
	m.forgive(now)
	if len(past) >= maxHistories {
		m.Log.Warn("no move without a request begins: the moves of too many jobs are remembered", "jobs", len(past))
		return nil
	}
	check := &checks{client: m.Client}
	for range maxRefused {
		cluster := m.observe(ctx, snapshot, moves, past, check, now)
		d, ok, skipped := rebalance.Choose(cluster, specon.DefaultRule())
		m.Log.Debug("moves without a request", "decided", ok, "pod", d.Pod, "to", d.To, "because", d.Because, "skipped", skipped)
		if !ok || ctx.Err() != nil {
			return check.err
		}
		why, err := m.beginDecided(ctx, d, moves, check, now)
		if why == "" || err != nil {
			return err
		}
		m.Log.Info("a move without a request is not made", "pod", d.Pod, "from", d.From, "to", d.To, "why", why)
		m.leave(d.Pod.UID, why, now)
	}
	return nil
}

// beginDecided begins a move that was decided, or says what it would be. It returns why the job cannot be moved.
func (m *Mover) beginDecided(ctx context.Context, d rebalance.Decision, moves movesNow, check *checks, now time.Time) (string, error) {
	pod, err := m.Client.CoreV1().Pods(d.Pod.Namespace).Get(ctx, d.Pod.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && growth.PodUID(pod.UID) != d.Pod.UID {
		return "the pod is gone", nil
	}
	if err != nil {
		return "", err
	}
	if why, err := m.refusal(ctx, pod, d.To); why != "" || err != nil {
		return why, err
	}
	if why, err := m.unsafe(ctx, pod, check); why != "" || err != nil {
		return why, err
	}
	if why, err := m.refusalByCheckpoint(ctx, check, []movingPod{{pod: pod, to: d.To}}); why != "" || err != nil {
		return why, err
	}
	if m.Mode == DryRun {
		m.decided = now.Add(refusedFor)
		m.Log.Info("a move would begin", "pod", d.Pod, "from", d.From, "to", d.To, "because", d.Because)
		m.event(ctx, d.Pod, corev1.EventTypeNormal, "WouldMove",
			"The job would move from node "+string(d.From)+" to "+string(d.To)+" if moves were automatic. The reason is: "+d.Because)
		return "", nil
	}
	_, err = m.write(ctx, []*corev1.Pod{pod}, []rebalance.Decision{d}, moves, now, bus.NoneNewer(bus.Moves, moves.revision))
	return "", err
}

// unsafe returns why a job is not moved without a request although its user could move it.
func (m *Mover) unsafe(ctx context.Context, pod *corev1.Pod, check *checks) (string, error) {
	switch {
	case pod.DeletionTimestamp != nil:
		return "the pod is being deleted", nil
	case pod.Status.Phase != corev1.PodRunning:
		return "the pod does not run", nil
	case pod.Annotations[gpushare.MoveAnnotation] != "":
		return "its user moves it", nil
	}
	if budget := m.Protected(pod); budget != "" {
		return "the disruption budget " + budget + " allows no eviction", nil
	}
	path, err := m.checkpointPath(ctx, growth.PodUID(pod.UID))
	if err != nil {
		return "", err
	}
	return check.volume(ctx, pod, path, m.SharedPaths)
}

// leave remembers that a job is not moved for a while.
func (m *Mover) leave(pod growth.PodUID, why string, now time.Time) {
	if m.left == nil {
		m.left = map[growth.PodUID]leftAlone{}
	}
	m.left[pod] = leftAlone{why, now.Add(refusedFor)}
}

type leftAlone struct {
	why   string
	until time.Time
}

// forgive forgets jobs that may be moved again.
func (m *Mover) forgive(now time.Time) {
	for pod, left := range m.left {
		if now.After(left.until) {
			delete(m.left, pod)
		}
	}
}
