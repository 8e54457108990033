package gangs

import (
	"context"
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// sizeAge is how long the size of a Job is remembered: its parallelism may be changed.
const sizeAge = 15 * time.Second

// size is the size of a gang as it was last read.
type size struct {
	pods int
	at   time.Time
}

// sizeOf returns the number of pods of a gang; 0 if it is unknown.
func (p *Placer) sizeOf(ctx context.Context, j *job, now time.Time) int {
	pod := j.pods[slices.Min(slices.Collect(maps.Keys(j.pods)))]
	if pod.Gang.Job == "" {
		return pod.Gang.Size
	}
	if known := j.known.size; !known.at.IsZero() && now.Sub(known.at) < sizeAge {
		return known.pods
	}
	owner, err := p.Client.BatchV1().Jobs(pod.Ref.Namespace).Get(ctx, pod.Gang.Job, metav1.GetOptions{})
	if err != nil {
		p.Log.Warn("the size of a gang cannot be read: its pods are placed one by one", "gang", j.title, "err", err)
		owner = &batchv1.Job{}
	}
	j.known.size = size{pods: pod.Gang.Size * pods(owner), at: now}
	return j.known.size.pods
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
