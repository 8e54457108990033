//go:build e2e && linux

package e2e

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/growth/gpushare"
)

const (
	elasticName = "elastic"
	// elasticSteps take an hour with one worker, so that a second one is worth a restart.
	elasticSteps = 200_000
)

// elasticResumed matches the step from which rank 0 goes on with another.
var elasticResumed = regexp.MustCompile(`(?m)^rank=0 resumes at step=(\d+)$`)

// isWidened trains with one worker until Trellis recommends two and changes the number. The new worker takes part in the same
// training, which continues from the checkpoint.
func (m *moves) isWidened(t *testing.T) {
	jobs := m.Kubernetes.BatchV1().Jobs(m.run.Setup.Namespace)
	_, err := jobs.Create(t.Context(), m.elasticJob(t), metav1.CreateOptions{})
	require.NoError(t, err)
	var first string
	eventually(t, "one worker trains", startTime, func() bool {
		first = m.indexedPod(t, elasticName, "0")
		return first != "" && m.step(t, first) > 0
	})
	eventually(t, "the Job has two workers", 2*time.Minute, func() bool {
		return m.hasEvent(t, first, "WorkersChanged", "1 → 2 workers: the Job has the new number")
	})
	require.True(t, m.hasEvent(t, first, "WorkersChanging", "1 → 2 workers: the job is expected to end "))
	answer, err := gpushare.ParseSaved(m.pod(t, first).Annotations[gpushare.SavedAnnotation])
	require.NoError(t, err)
	require.Empty(t, answer.Failed)

	eventually(t, "two ranks train, as one job", startTime, func() bool {
		second := m.indexedPod(t, elasticName, "1")
		if second == "" {
			return false
		}
		lead, other := m.sample(t, first), m.sample(t, second)
		return lead != nil && other != nil && lead.Sample.WorldSize == 2 && other.Sample.WorldSize == 2 &&
			lead.Sample.Step > answer.Step && other.Sample.Step > answer.Step
	})
	second := m.indexedPod(t, elasticName, "1")
	resumed := elasticResumed.FindStringSubmatch(m.log(t, first))
	require.Len(t, resumed, 2, "rank 0 has not resumed")
	step, err := strconv.ParseInt(resumed[1], 10, 64)
	require.NoError(t, err)
	require.GreaterOrEqual(t, step, answer.Step, "it saves once more before its launcher starts it again")
	require.Contains(t, m.log(t, second), fmt.Sprintf("rank=1 resumes at step=%d\n", step))
	require.Zero(t, m.restartsOf(t, first)+m.restartsOf(t, second))
	job, err := jobs.Get(t.Context(), elasticName, metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, int32(2), *job.Spec.Parallelism)
	require.Equal(t, int32(2), *job.Spec.Completions)
	require.Zero(t, job.Status.Failed)
}

// elasticJob returns an Indexed Job of one pod that may have two.
func (m *moves) elasticJob(t *testing.T) *batchv1.Job {
	train := movingJobs(t)[0]
	train.Name, train.GPUMemory = elasticName, ddpMemory
	pod := m.trainer(train)
	pod.Annotations[gpushare.ElasticAnnotation] = "1-2"
	pod.Annotations[gpushare.TuneAnnotation] = string(gpushare.TuneWorkers)
	c := &pod.Spec.Containers[0]
	c.Command = []string{m.run.Setup.Python, "/jobs/elastic.py", "/checkpoints", "--steps", strconv.Itoa(elasticSteps), "--seed", "7"}
	c.Env = append(c.Env,
		corev1.EnvVar{Name: "GLOO_SOCKET_IFNAME", Value: "eth0"},
		corev1.EnvVar{Name: "POD_IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}})
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: elasticName, Namespace: pod.Namespace}, Spec: indexed(pod, 1)}
}
