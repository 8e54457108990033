package gangs

import (
	"context"
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// sizeAge is how long the size of a Job is remembered: its parallelism may be changed.
	sizeAge = 15 * time.Second
	// sizeRetry is how long after a failure it is read again.
	sizeRetry = 3 * time.Second
)

// size is the size of a gang as it was last read.
type size struct {
	pods  int
	known bool
	next  time.Time // when it is read again
}

// single reports whether the pods are known to be placed one by one.
func (s size) single() bool { return s.known && s.pods < 2 }

// sizeOf returns the number of pods of a gang, and whether it is known. It is 0 if its Job is gone or may not be read. After other
// errors the last size counts: a part of the pods must not be bound because one call failed.
func (p *Placer) sizeOf(ctx context.Context, j *job, now time.Time) (int, bool) {
	pod := j.pods[slices.Min(slices.Collect(maps.Keys(j.pods)))]
	if pod.Gang.Job == "" {
		return pod.Gang.Size, true
	}
	last := &j.known.size
	if now.Before(last.next) {
		return last.pods, last.known
	}
	owner, err := p.Client.BatchV1().Jobs(pod.Ref.Namespace).Get(ctx, pod.Gang.Job, metav1.GetOptions{})
	switch {
	case err == nil:
		*last = size{pods: pod.Gang.Size * pods(owner), known: true, next: now.Add(sizeAge)}
	case apierrors.IsNotFound(err) || apierrors.IsForbidden(err):
		p.Log.Warn("a gang has no size that can be read: its pods are placed one by one", "gang", j.title, "err", err)
		*last = size{known: true, next: now.Add(sizeAge)}
	default:
		p.Log.Warn("the size of a gang could not be read", "gang", j.title, "known", last.known, "err", err)
		last.next = now.Add(sizeRetry)
	}
	return last.pods, last.known
}

// pods returns the number of pods that a Job runs at a time.
func pods(job *batchv1.Job) int {
	if job.Spec.Parallelism == nil {
		return 0
	}
	n := *job.Spec.Parallelism
	if job.Spec.Completions != nil {
		n = min(n, *job.Spec.Completions-job.Status.Succeeded)
	}
	return int(max(0, n))
}
