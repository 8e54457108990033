package submit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
	"github.com/trellis-gpu/trellis/benchmarks/internal/training"
	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
)

// ArrivalAnnotation is the job's time of arrival, from the start of the workload.
const ArrivalAnnotation = "bench.trellis/arrival"

const (
	// patience bounds how long an error of the API server may persist.
	patience = 30 * time.Second
	// pause is the time between two attempts.
	pause = time.Second
)

// Submission submits one workload.
type Submission struct {
	// Jobs are in order of arrival.
	Jobs    workload.Workload
	Setup   training.Setup
	Scripts map[string]string
	Cluster *cluster.Connection
	// Say receives a line for each thing that happened.
	Say func(format string, values ...any)
}

// Do submits all jobs. After an error, and when ctx ends, it returns what has been submitted until then.
func (s Submission) Do(ctx context.Context) (Report, error) {
	r := newReport(s)
	if err := s.prepare(ctx); err != nil {
		return r, err
	}
	began := time.Now()
	for i, job := range s.Jobs {
		if err := waitUntil(ctx, began.Add(job.Arrival)); err != nil {
			return r, err
		}
		outcome := &r.Jobs[i]
		err := s.create(ctx, s.pod(job))
		switch {
		case refused(err):
			outcome.State, outcome.Error = Refused, err.Error()
			s.Say("%s %s is refused: %v", stamp(began), job.Name, err)
		case err != nil:
			return r, fmt.Errorf("pod %s: %w", job.Name, err)
		default:
			outcome.State = Submitted
			s.Say("%s %s: %s, %d steps (%d of %d)", stamp(began), job.Name, job.Kind, job.Steps, i+1, len(s.Jobs))
		}
	}
	if n := r.count(Refused); n > 0 {
		return r, fmt.Errorf("%d of %d jobs were refused", n, len(s.Jobs))
	}
	return r, nil
}

// stamp returns the time since the start, such as "12.5s".
func stamp(began time.Time) string {
	return fmt.Sprintf("%6.1fs", time.Since(began).Seconds())
}

// pod returns the pod of a job.
func (s Submission) pod(job workload.Job) *corev1.Pod {
	pod := s.Setup.Pod(job)
	pod.Annotations[ArrivalAnnotation] = job.Arrival.String()
	return pod
}

// prepare creates the namespace and the programs. It fails before anything is submitted if a pod of the same name exists.
func (s Submission) prepare(ctx context.Context) error {
	namespace, core := s.Setup.Namespace, s.Cluster.Kubernetes.CoreV1()
	_, err := core.Namespaces().Create(ctx, s.Setup.Room(), metav1.CreateOptions{})
	switch {
	case err == nil:
		s.Say("namespace %s is new", namespace)
		if err := s.Cluster.AwaitAccount(ctx, namespace, patience); err != nil {
			return err
		}
	case apierrors.IsForbidden(err): // it may exist: the next request shows that
	case !apierrors.IsAlreadyExists(err):
		return fmt.Errorf("namespace %s: %w", namespace, err)
	}
	if err := s.unique(ctx); err != nil {
		return err
	}
	return s.install(ctx)
}

// unique returns an error if the namespace has pods with names of the workload's jobs.
func (s Submission) unique(ctx context.Context) error {
	namespace := s.Setup.Namespace
	pods, err := s.Cluster.Kubernetes.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing the pods of namespace %s: %w", namespace, err)
	}
	var taken []string
	for _, pod := range pods.Items {
		if slices.ContainsFunc(s.Jobs, func(j workload.Job) bool { return j.Name == pod.Name }) {
			taken = append(taken, pod.Name)
		}
	}
	if len(taken) == 0 {
		return nil
	}
	if len(taken) > 3 {
		taken = append(taken[:3], "…")
	}
	return fmt.Errorf("namespace %s has pods of the same names already (%s): delete them, or use another --namespace",
		namespace, strings.Join(taken, ", "))
}

// install creates the ConfigMap with the programs, which may exist from an earlier submission.
func (s Submission) install(ctx context.Context) error {
	scripts := s.Setup.Scripts(s.Scripts)
	configMaps := s.Cluster.Kubernetes.CoreV1().ConfigMaps(scripts.Namespace)
	_, err := configMaps.Create(ctx, scripts, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return wrap("creating the ConfigMap with the jobs' programs", err)
	}
	existing, err := configMaps.Get(ctx, scripts.Name, metav1.GetOptions{})
	if err != nil {
		return wrap("reading the ConfigMap with the jobs' programs", err)
	}
	if !maps.Equal(existing.Data, scripts.Data) {
		return fmt.Errorf("ConfigMap %s of namespace %s has other programs, which its jobs may use: use another --namespace", scripts.Name, scripts.Namespace)
	}
	return nil
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
