package mover

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trellis-gpu/trellis/daemon/jobkind"
	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/move"
)

const (
	// keptHistory is how long the moves of a job are remembered after it was last seen. They are written again after
	// refreshHistory.
	keptHistory    = 72 * time.Hour
	refreshHistory = 24 * time.Hour
	// maxHistories bounds the jobs whose moves are remembered. With more of them, nothing moves without a request.
	maxHistories = 10_000
)

// remembered is the record of the past moves of a job, and its version.
type remembered struct {
	bus.MovedJob
	revision bus.Revision
}

// history reads the past moves of all jobs, by the names of the jobs.
func (m *Mover) history(ctx context.Context) (map[string]remembered, error) {
	entries, _, err := m.Bus.List(ctx, bus.Moved)
	if err != nil {
		return nil, err
	}
	past := make(map[string]remembered, len(entries))
	for _, entry := range entries {
		key, err := bus.ParseKey(entry.Key)
		if err != nil {
			continue
		}
		record, err := bus.Decode[bus.MovedJob](entry.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", entry.Key, err) // it may have moved twice
		}
		past[key.Name] = remembered{record, entry.Revision}
	}
	return past, nil
}

// continuing returns the names of the histories of copies of bare pods.
func continuing(past map[string]remembered) map[growth.PodUID]string {
	names := map[growth.PodUID]string{}
	for name, of := range past {
		for _, p := range of.Past {
			if p.New != "" && of.Continues(p.New) {
				names[p.New] = name
			}
		}
	}
	return names
}

// remember adds a move that has ended to the history of its job: it returns the history, and the write with its guard. read returns
// the past moves.
func (m *Mover) remember(
	read func() (map[string]remembered, error), record bus.Move, s seen, now time.Time,
) (move.History, bus.Write, bus.Guard, error) {
	past, err := read()
	if err != nil {
		return move.History{}, bus.Write{}, bus.Guard{}, err
	}
	r := record.Move
	if r.Gone && r.New == "" && s.successor != nil {
		r.New = growth.PodUID(s.successor.UID)
	}
	job := cmp.Or(continuing(past)[r.Old], r.Job())
	of := past[job]
	of.Written, of.History = now, of.With(r)
	of.Seen(record.Pod)
	for _, pod := range []*corev1.Pod{s.old, s.successor} {
		if pod != nil {
			of.Kind = jobkind.Of(pod)
			of.Seen(request.Ref(pod))
			if owner := metav1.GetControllerOf(pod); owner != nil {
				of.Owner = owner.Kind + "/" + owner.Name
			}
		}
	}
	value, err := bus.Encode(of.MovedJob)
	key := bus.MovedKey(job)
	write := bus.Write{Key: key, Value: value, Lifetime: bus.Lifetime{TTL: keptHistory}}
	return of.History, write, bus.Unchanged(key, of.revision), err
}

// show writes the history on the pod that is the job now, for its user. It is not repeated: the bus has the history.
func (m *Mover) show(ctx context.Context, h move.History, s seen) {
	pod := s.old
	if s.successor != nil && !gated(s.successor) {
		pod = s.successor
	}
	if pod == nil {
		return
	}
	text := h.String()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid":         pod.UID,
		"annotations": map[string]string{gpushare.MovesAnnotation: text},
	}})
	if err == nil {
		_, err = m.Client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		m.Log.Warn("the history of a job is not shown", "pod", pod.Namespace+"/"+pod.Name, "err", err)
	}
}

// refresh keeps the histories of jobs that exist.
func (m *Mover) refresh(ctx context.Context, snapshot *cache.Snapshot, past map[string]remembered, now time.Time) error {
	old := map[string]remembered{}
	for name, of := range past {
		if now.Sub(of.Written) > refreshHistory {
			old[name] = of
		}
	}
	if len(old) == 0 {
		return nil
	}
	copies := continuing(old)
	for uid, pod := range snapshot.Pods.All() {
		name := cmp.Or(copies[uid], pod.Identity().Job())
		of, found := old[name]
		if !found || pod.Ended {
			continue
		}
		delete(old, name)
		of.Written = now
		value, err := bus.Encode(of.MovedJob)
		if err != nil {
			return err
		}
		key := bus.MovedKey(name)
		_, err = m.Bus.Put(ctx, key, value, bus.Lifetime{TTL: keptHistory}, bus.Unchanged(key, of.revision))
		if err != nil && !errors.Is(err, bus.ErrConflict) {
			return err
		}
	}
	return nil
}

// pathOf returns where a job saves, by its annotation or the last checkpoint that it has reported, or "".
func (m *Mover) pathOf(ctx context.Context, pod *corev1.Pod) (string, error) {
	if spec, err := request.Spec(pod); err == nil && spec.Signal.Path != "" {
		return spec.Signal.Path, nil
	}
	return m.checkpointPath(ctx, growth.PodUID(pod.UID))
}

// checkpointPath returns the path of the last checkpoint that a job has reported, or "".
func (m *Mover) checkpointPath(ctx context.Context, pod growth.PodUID) (string, error) {
	sample, err := m.sample(ctx, pod)
	if err != nil || sample.Checkpoint == nil {
		return "", err
	}
	return sample.Checkpoint.Path, nil
}
