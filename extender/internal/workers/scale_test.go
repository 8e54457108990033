package workers

import (
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/growth/elastic"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

func TestScaleFormat(t *testing.T) {
	resources := []metav1.APIResource{
		{Name: "deployments", Kind: "Deployment", Namespaced: true},
		{Name: "deployments/scale", Kind: "Scale", Namespaced: true},
		{Name: "daemonsets", Kind: "DaemonSet", Namespaced: true},
		{Name: "daemonsets/status", Kind: "DaemonSet", Namespaced: true},
	}
	for name, tc := range map[string]struct {
		owner owner
		want  string
	}{
		"a kind with scale":      {owner{APIVersion: "apps/v1", Kind: "Deployment"}, "/apis/apps/v1/namespaces/%s/deployments/%s/scale"},
		"a kind without":         {owner{APIVersion: "apps/v1", Kind: "DaemonSet"}, ""},
		"a kind that is unknown": {owner{APIVersion: "apps/v1", Kind: "Pool"}, ""},
		"a core kind":            {owner{APIVersion: "v1", Kind: "Deployment"}, "/api/v1/namespaces/%s/deployments/%s/scale"},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, scaleFormat(tc.owner, resources)) })
	}
}

func TestNumber_ReadsParallelism(t *testing.T) {
	two, yes, indexed := int32(2), true, batchv1.IndexedCompletion
	of := func(change func(*batchv1.Job)) number {
		j := &batchv1.Job{Spec: batchv1.JobSpec{Parallelism: &two}}
		change(j)
		return ofJob(j)
	}
	require.Equal(t, number{workers: 2}, of(func(*batchv1.Job) {}))
	require.Zero(t, of(func(j *batchv1.Job) { j.Spec.Suspend = &yes }).workers, "a suspended Job has no workers")
	require.True(t, of(func(j *batchv1.Job) { j.Spec.Completions, j.Spec.CompletionMode = &two, &indexed }).completions)
	require.False(t, of(func(j *batchv1.Job) { j.Spec.Completions = &two }).completions, "completions are work items there")
	above := func(kind string) func(*batchv1.Job) {
		return func(j *batchv1.Job) {
			j.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: "above", Controller: &yes}}
		}
	}
	require.Equal(t, "its Job belongs to the JobSet above, which sets the number", of(above("JobSet")).fixed)
	require.Empty(t, of(above("CronJob")).fixed)
}

// The Job controller starts no more pods than completions are left, so a Job that lacks some would have a number that it does not run with.
func TestNumber_RefusesWhatCompletionsForbid(t *testing.T) {
	job := func(parallelism, completions, succeeded int32, mode batchv1.CompletionMode) batchv1.Job {
		j := batchv1.Job{Spec: batchv1.JobSpec{Parallelism: &parallelism, CompletionMode: &mode}, Status: batchv1.JobStatus{Succeeded: succeeded}}
		if completions > 0 {
			j.Spec.Completions = &completions
		}
		return j
	}
	inAll := func(completions string) string {
		return "its Job runs as many pods as its completions (" + completions + ") in all, with any number of workers: " + otherCompletions
	}
	left := func(completions string) string {
		return "its Job runs no more pods than its completions that are left (" + completions + "): " + otherCompletions
	}
	for name, tc := range map[string]struct {
		job     batchv1.Job
		workers int
		want    string
	}{
		"no completions":                      {job(2, 0, 0, batchv1.NonIndexedCompletion), 4, ""},
		"indexed, and both are equal":         {job(2, 2, 0, batchv1.IndexedCompletion), 4, ""},
		"what Kubernetes sets if neither is":  {job(1, 1, 0, batchv1.NonIndexedCompletion), 2, inAll("1")},
		"one pod after the other":             {job(1, 8, 0, batchv1.NonIndexedCompletion), 2, inAll("8")},
		"indexed, with enough completions":    {job(2, 4, 0, batchv1.IndexedCompletion), 4, ""},
		"indexed, with too few":               {job(2, 3, 0, batchv1.IndexedCompletion), 4, left("3")},
		"indexed, with too few that are left": {job(2, 4, 1, batchv1.IndexedCompletion), 4, left("3")},
		"indexed, and fewer workers":          {job(2, 3, 0, batchv1.IndexedCompletion), 1, ""},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, ofJob(&tc.job).refuses(tc.workers)) })
	}
}

func TestJob_Answers(t *testing.T) {
	saved := gpushare.Saved{Request: "a", Step: 7, SHA256: "0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f", Path: "/c"}.String()
	for name, tc := range map[string]struct {
		answers []string
		saved   bool
		failed  string
	}{
		"all pods have saved":                {[]string{saved, saved}, true, ""},
		"one pod has not answered":           {[]string{saved, ""}, false, ""},
		"one pod has answered another":       {[]string{saved, "b failed: disk full"}, false, ""},
		"one pod could not":                  {[]string{saved, "a failed: disk full"}, false, "disk full"},
		"one pod could not, without a cause": {[]string{"", "a failed"}, false, "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			j := &job{}
			for _, answer := range tc.answers {
				j.pods = append(j.pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{gpushare.SavedAnnotation: answer}}})
			}
			saved, failed := j.answers("a")
			require.Equal(t, tc.saved, saved)
			require.Equal(t, tc.failed, failed)
		})
	}
}

func TestJob_BlockedReasons(t *testing.T) {
	pod := func(phase corev1.PodPhase, annotations map[string]string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Annotations: annotations}, Status: corev1.PodStatus{Phase: phase}}
	}
	for name, tc := range map[string]struct {
		pod  *corev1.Pod
		want string
	}{
		"it runs":         {pod(corev1.PodRunning, nil), ""},
		"it is paused":    {pod(corev1.PodRunning, map[string]string{gpushare.PausedAnnotation: "true"}), "it is paused"},
		"it is not":       {pod(corev1.PodRunning, map[string]string{gpushare.PausedAnnotation: " false"}), ""},
		"it moves":        {pod(corev1.PodRunning, map[string]string{gpushare.MoveAnnotation: "any"}), "it moves to another node"},
		"it does not run": {pod(corev1.PodPending, nil), "its pod p does not run"},
	} {
		t.Run(name, func(t *testing.T) {
			j := &job{pods: []*corev1.Pod{tc.pod}}
			require.Equal(t, tc.want, j.blocked(elastic.Change{}))
		})
	}
	cannot := &job{spec: gpushare.Spec{Checkpoint: gpushare.CheckpointNone}}
	require.Contains(t, cannot.blocked(elastic.Change{}), "it cannot save")
}
