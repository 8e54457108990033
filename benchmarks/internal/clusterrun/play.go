package clusterrun

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
	"github.com/trellis-gpu/trellis/benchmarks/internal/training"
)

// tolerated bounds how long an error of the API server may persist.
const tolerated = 30 * time.Second

// Played is what a phase has shown.
type Played struct {
	Phase Phase `json:"phase"`
	// Seconds are from the creation of each job to its end, by name.
	Seconds map[string]float64 `json:"seconds"`
	// Pods are those in which the jobs have ended, by name of the job.
	Pods map[string]Pod `json:"pods,omitempty"`
	// Moves are the events Moved.
	Moves []string `json:"moves,omitempty"`
	// Makespan is the time from the first arrival to the last end, in seconds.
	Makespan float64 `json:"makespanSeconds"`
}

// Mean returns the mean completion, in seconds.
func (p Played) Mean() float64 {
	sum := 0.0
	for _, s := range p.Seconds {
		sum += s
	}
	return sum / float64(len(p.Seconds))
}

// player submits the jobs of one phase.
type player struct {
	connection  *cluster.Connection
	setup       training.Setup
	checkpoints string
	say         func(format string, values ...any)

	began     time.Time
	submitted map[string]bool
	ended     map[string]time.Duration
	stories   cluster.Stories
	result    Played
}

// play submits the jobs as they are due, until all have ended.
func (p *player) play(ctx context.Context, phase Phase, starts []start) (Played, error) {
	p.began, p.submitted, p.ended = time.Now(), map[string]bool{}, map[string]time.Duration{}
	p.result = Played{Phase: phase, Seconds: map[string]float64{}, Pods: map[string]Pod{}}
	good := time.Now()
	for len(p.ended) < len(starts) {
		err := p.look(ctx, starts)
		switch {
		case err == nil:
			good = time.Now()
		case ctx.Err() != nil || errors.As(err, new(failure)) || time.Since(good) > tolerated:
			return p.result, err
		}
		if err := pause(ctx); err != nil {
			return p.result, fmt.Errorf("%d of %d jobs have ended: %w", len(p.ended), len(starts), err)
		}
	}
	p.result.Makespan = time.Since(p.began).Seconds()
	return p.result, nil
}

// failure is that of a job, which does not pass.
type failure struct{ text string }

func (f failure) Error() string { return f.text }

// look submits what is due and takes note of what has ended.
func (p *player) look(ctx context.Context, starts []start) error {
	jobs := p.connection.Kubernetes.BatchV1().Jobs(p.setup.Namespace)
	list, err := jobs.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing jobs: %w", err)
	}
	for _, j := range list.Items {
		took, ended, failed := completion(j)
		if failed != "" {
			return failure{fmt.Sprintf("job %s has failed: %s", j.Name, failed)}
		}
		if _, known := p.ended[j.Name]; !ended || known {
			continue
		}
		pod, err := p.lastPod(ctx, j)
		if err != nil {
			return err
		}
		p.ended[j.Name] = took
		p.result.Seconds[j.Name], p.result.Pods[j.Name] = took.Seconds(), pod
		p.say("%s: %s after %s on %s", p.result.Phase, j.Name, took, pod.Node)
	}
	for _, s := range starts {
		if p.submitted[s.Name] || !s.due(time.Since(p.began), p.ended) {
			continue
		}
		_, err := jobs.Create(ctx, object(p.setup, s, p.checkpoints), metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) { // an answer may have been lost
			return fmt.Errorf("submitting %s: %w", s.Name, err)
		}
		p.submitted[s.Name] = true
	}
	return p.followMoves(ctx)
}

// followMoves takes note of moves that have ended.
func (p *player) followMoves(ctx context.Context) error {
	stories, err := p.stories.New(ctx, p.connection, p.setup.Namespace)
	if err != nil {
		return err
	}
	for _, s := range stories {
		if s.Reason == "Moved" {
			p.result.Moves = append(p.result.Moves, s.Object+": "+s.Text)
			p.say("%s: %s: %s", p.result.Phase, s.Object, s.Text)
		}
	}
	return nil
}
