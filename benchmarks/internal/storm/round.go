package storm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/growth"
)

const (
	// pollEvery is the interval of pod lists.
	pollEvery = time.Second
	// stallWithin bounds the time without a change of any pod. After it the round is judged as it is.
	stallWithin = 4 * time.Minute
	// againWithin bounds the time until a failed pod is recreated. It is longer than any controller's delay.
	againWithin = 40 * time.Second
	// agreeWithin bounds the time until the records agree after the last change.
	agreeWithin = time.Minute
	// goneWithin bounds the deletion of pods.
	goneWithin = 2 * time.Minute
)

// Round is the result of a round.
type Round struct {
	Plan
	Number  int     `json:"round"`
	Count   int     `json:"pods"`
	Seconds float64 `json:"seconds"`
	// Settled is the time in seconds until the records agreed: with some pods running, and with none.
	Settled [2]float64 `json:"settled"`
	// Gauged is the maximum of the extender's gauge of over-committed memory, in bytes, and Looks the number of
	// scrapes. The gauge includes reservations, and kubelet may allocate other GPUs than those: AtRest is the value that
	// counts.
	Gauged float64 `json:"gaugedBytes"`
	AtRest float64 `json:"gaugedAtRestBytes"`
	Looks  int     `json:"gaugeLooks"`
	// Recreated are the pods that kubelet rejected and that were recreated.
	Recreated []string `json:"recreated"`
	Findings
}

// String returns a line about the round, and one for each finding.
func (r Round) String() string {
	text := fmt.Sprintf("round %d, %s: %d pods in %.0f s, %d kills, %d pods recreated; wrong GPU %d, over-committed %d, drift %d, lost %d",
		r.Number, r.Sizes(), r.Count, r.Seconds, len(r.Strikes), len(r.Recreated), len(r.WrongGPU), len(r.OverCommitted), len(r.Drift), len(r.Lost))
	if len(r.Unjudged) > 0 {
		text += fmt.Sprintf(", without enough evidence %d", len(r.Unjudged))
	}
	for _, finding := range slices.Concat(r.WrongGPU, r.OverCommitted, r.Drift, r.Lost, r.Unjudged) {
		text += "\n      " + finding
	}
	return text
}

// round runs one round: strikes while pods come and go, records compared with standing pods, then without pods.
func (s *Storm) round(ctx context.Context, number int) (Round, error) {
	names := make([]string, len(s.nodes))
	for i, n := range s.nodes {
		names[i] = n.name
	}
	plan := NewPlan(s.Seed, number, s.Pods, names)
	r := Round{Plan: plan, Number: number + 1, Count: s.Pods}
	if err := s.closeGate(); err != nil {
		return r, err
	}
	began := time.Now()
	broken, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		if err := s.arrive(broken, plan); err != nil {
			cancel(err)
		}
	}()
	pods, err := s.play(broken, plan, &r)
	if err != nil {
		return r, err
	}
	r.Seconds = time.Since(began).Seconds()
	drift, took, err := s.awaitAgreement(ctx, pods)
	if err != nil {
		return r, err
	}
	r.Settled[0] = took.Seconds()
	if bytes, known := s.overCommitted(ctx); known {
		r.AtRest = bytes
	}
	if err := s.openGate(); err != nil {
		return r, err
	}
	all := func(pods []corev1.Pod) bool {
		return !slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return !s.over(&pod) })
	}
	if pods, err = s.await(ctx, plan, all); err != nil {
		return r, err
	}
	e := s.evidence(plan, pods)
	r.Findings, r.Recreated = Judge(e), e.Recreated()
	r.Drift = drift
	if err := s.remove(ctx); err != nil {
		return r, err
	}
	drift, took, err = s.awaitAgreement(ctx, nil)
	r.Drift, r.Settled[1] = slices.Concat(r.Drift, drift), took.Seconds()
	return r, err
}

// arrive submits the bursts.
func (s *Storm) arrive(ctx context.Context, plan Plan) error {
	for i, burst := range plan.Bursts {
		select {
		case <-time.After(plan.Pauses[i]):
		case <-ctx.Done():
			return nil
		}
		for _, pod := range burst {
			if _, err := s.connection.Kubernetes.CoreV1().Pods(s.namespace).Create(ctx, s.pod(pod), metav1.CreateOptions{}); err != nil {
				return fmt.Errorf("submitting %s: %w", pod.Name, err)
			}
		}
	}
	return nil
}

// play executes the strikes. It returns once the standing pods run and all other pods have ended.
func (s *Storm) play(ctx context.Context, plan Plan, r *Round) ([]corev1.Pod, error) {
	standing := map[string]bool{}
	for _, p := range plan.Pods() {
		standing[p.Name] = p.Standing
	}
	next := 0
	struck := make(chan error, len(plan.Strikes))
	pods, err := s.await(ctx, plan, func(pods []corev1.Pod) bool {
		if bytes, known := s.overCommitted(ctx); known {
			r.Gauged, r.Looks = max(r.Gauged, bytes), r.Looks+1
		}
		ended, settled := 0, 0
		for i := range pods {
			if s.over(&pods[i]) {
				ended++
			}
			if s.over(&pods[i]) || standing[pods[i].Name] && running(&pods[i]) {
				settled++
			}
		}
		for ; next < len(plan.Strikes) && (ended >= plan.Strikes[next].After || settled == len(standing)); next++ {
			what := plan.Strikes[next]
			s.notice("%d of %d pods have ended: kill -9 of %s's %s", ended, len(standing), what.Node, what.Victim)
			go func() { struck <- s.strike(ctx, what) }()
		}
		return settled == len(standing)
	})
	for range next {
		err = errors.Join(err, <-struck)
	}
	return pods, err
}

// await polls the round's pods until all exist and done returns true, or until none has changed for stallWithin.
func (s *Storm) await(ctx context.Context, plan Plan, done func([]corev1.Pod) bool) ([]corev1.Pod, error) {
	before, changed := "", time.Now()
	for {
		found, err := s.connection.Kubernetes.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return nil, fmt.Errorf("listing the round's pods: %w", err)
		}
		if done(found.Items) && len(found.Items) == len(plan.Pods()) {
			return found.Items, nil
		}
		if found.ResourceVersion != before {
			before, changed = found.ResourceVersion, time.Now()
		}
		if time.Since(changed) > stallWithin {
			s.notice("nothing has changed for %s: the round is judged as it is", stallWithin)
			return found.Items, nil
		}
		select {
		case <-time.After(pollEvery):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// awaitAgreement waits until the records agree, for agreeWithin at most. It returns the remaining differences and the time.
func (s *Storm) awaitAgreement(ctx context.Context, pods []corev1.Pod) ([]string, time.Duration, error) {
	living := map[growth.PodUID]string{}
	for _, pod := range pods {
		if alive(pod) {
			living[growth.PodUID(pod.UID)] = pod.Name
		}
	}
	began := time.Now()
	for {
		drift := []string{}
		records, err := s.records(ctx, living)
		if err == nil {
			drift = Drift(records)
		} else {
			drift = append(drift, err.Error()) // kubelet may be down
		}
		if took := time.Since(began); len(drift) == 0 || took > agreeWithin {
			return drift, took, nil
		}
		select {
		case <-time.After(pollEvery):
		case <-ctx.Done():
			return nil, 0, context.Cause(ctx)
		}
	}
}

func alive(pod corev1.Pod) bool {
	return pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// over reports whether a pod has ended and is not recreated. A failed pod may be recreated within againWithin.
func (s *Storm) over(pod *corev1.Pod) bool {
	if pod.Status.Phase != corev1.PodFailed {
		return !alive(*pod)
	}
	first, known := s.failed[pod.UID]
	if !known {
		first = time.Now()
		s.failed[pod.UID] = first
	}
	return time.Since(first) > againWithin
}

// records reads the current records of all sources.
func (s *Storm) records(ctx context.Context, living map[growth.PodUID]string) (Records, error) {
	b := Records{Living: living, Checkpoint: map[growth.PodUID][]string{}, Resources: map[string][]string{}, Allocations: s.log.held()}
	for _, n := range s.nodes {
		resources, err := n.resources(ctx, s.namespace)
		if err != nil {
			return b, err
		}
		all, old, err := n.slots(time.Now())
		if err != nil {
			return b, err
		}
		b.Slots, b.Old = slices.Concat(b.Slots, all), slices.Concat(b.Old, old)
		for pod, ids := range resources {
			b.Resources[pod] = ids
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, held := range s.present {
		for uid, ids := range held {
			b.Checkpoint[uid] = ids
		}
	}
	return b, nil
}

func (s *Storm) evidence(plan Plan, pods []corev1.Pod) Evidence {
	e := Evidence{Pods: plan.Pods(), Fates: map[string]Fate{}}
	e.Bus, e.Memory = s.log.shares()
	for i := range pods {
		e.Fates[pods[i].Name] = fate(&pods[i])
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e.Kubelet = maps.Clone(s.kubelet)
	return e
}

// remove deletes the round's pods and waits until they are gone.
func (s *Storm) remove(ctx context.Context) error {
	now := int64(0)
	pods := s.connection.Kubernetes.CoreV1().Pods(s.namespace)
	if err := pods.DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{}); err != nil {
		return fmt.Errorf("deleting the round's pods: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, goneWithin)
	defer cancel()
	for {
		left, err := pods.List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("deleting the round's pods: %w", err)
		}
		if len(left.Items) == 0 {
			return nil
		}
		select {
		case <-time.After(pollEvery):
		case <-ctx.Done():
			return fmt.Errorf("%d of the round's pods still exist: %w", len(left.Items), ctx.Err())
		}
	}
}

// closeGate makes standing pods run until openGate.
func (s *Storm) closeGate() error {
	if err := os.Remove(filepath.Join(s.gate(), "open")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// openGate lets the standing pods end.
func (s *Storm) openGate() error { return os.WriteFile(filepath.Join(s.gate(), "open"), nil, 0o644) }
