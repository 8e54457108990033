//go:build e2e && linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
	"github.com/trellis-gpu/trellis/benchmarks/internal/training"
	"github.com/trellis-gpu/trellis/benchmarks/jobs"
)

const (
	ddpName = "ddp"
	// ddpSteps are enough for a move on a fast machine, which makes some 60 in a second.
	ddpSteps = 1200
	ddpPort  = 29500
	// ddpMemory is more than half of a GPU, so that each rank has a node of its own.
	ddpMemory = "16Gi"
)

// ddpScript starts one rank in each pod. Rank 0 waits for the other on its own address; that one finds it by the Service.
// An Indexed Job says the rank in a variable of its own.
const ddpScript = `export RANK=${RANK:-$JOB_COMPLETION_INDEX} LOCAL_RANK=0 LOCAL_WORLD_SIZE=1
[ "$RANK" = 0 ] && export MASTER_ADDR=127.0.0.1
exec %s /jobs/ddp.py --steps %d --seed 7 --checkpoint-dir /checkpoints`

var (
	// ddpResult matches the hash of everything that rank 0 has learned, ddpLoss a point of its loss curve.
	ddpResult = regexp.MustCompile(`(?m)^rank=0 finished state=([0-9a-f]+)$`)
	ddpLoss   = regexp.MustCompile(`(?m)^rank=0 step=(\d+) loss=(\S+)$`)
	// savedStep matches the step in the event of a pod whose job has saved for its move.
	savedStep = regexp.MustCompile(`^The job has saved step (\d+) to `)
)

// TestGangMoves moves a job of two ranks, which reduce their gradients with gloo, on two of three nodes. Both pause and save at one
// step. Rank 0 goes to the third node, rank 1 starts again where it is. The job ends as one that was left alone, and its Job
// counts no failure. Then a job on the same cluster gets a second rank.
func TestGangMoves(t *testing.T) {
	t.Parallel()
	skipUnlessRoot(t)
	undisturbed := startUndisturbedRanks(t, ddpSteps) // while the cluster comes up
	m := newMoves(t, "gangs", "workers")
	m.submitRanks(t)
	m.movesARank(t, undisturbed, m.ranksEnd)
	t.Run("an elastic job is widened", m.isWidened)
}

// movesARank moves rank 0 of a job that trains to the third node, and compares what the job learns until it has ended.
func (m *moves) movesARank(t *testing.T, undisturbed func() string, end func(t *testing.T)) {
	t.Helper()
	first, second := m.trainingRank(t, "0", 60), m.trainingRank(t, "1", 60)
	to := m.otherNode(map[string]bool{first.Spec.NodeName: true, second.Spec.NodeName: true})
	plan := m.plugin(t, "move", first.Name, "-n", first.Namespace, "--to", to, "--dry-run")
	require.Regexp(t, first.Name+` +`+first.Spec.NodeName+` +`+to+`\n`, plan)
	require.Contains(t, plan, second.Spec.NodeName+", where it starts again")
	curve := lossesOf(m.log(t, first.Name))
	m.plugin(t, "move", first.Name, "-n", first.Namespace, "--to", to)

	next := m.continued(t, first, second)
	require.Equal(t, to, next[0].Spec.NodeName)
	require.Equal(t, second.Spec.NodeName, next[1].Spec.NodeName)
	require.Equal(t, m.savedStep(t, first.Name), m.savedStep(t, second.Name), "both have saved once, at one step")
	end(t)
	log, want := m.log(t, next[0].Name), undisturbed()
	require.Equal(t, ddpResult.FindStringSubmatch(want)[1], ddpResult.FindStringSubmatch(log)[1], "it has learned the same")
	for step, loss := range lossesOf(log) {
		curve[step] = loss
	}
	whole := lossesOf(want)
	for step, loss := range curve {
		require.Equal(t, whole[step], loss, "the loss after step %s", step)
	}
	t.Logf("%d of the %d points of the loss curve were compared", len(curve), len(whole))
}

// continued waits until the pods of both ranks are new ones that continue, and returns them.
func (m *moves) continued(t *testing.T, old ...*corev1.Pod) []*corev1.Pod {
	next := make([]*corev1.Pod, len(old))
	for i := range old {
		index := strconv.Itoa(i)
		eventually(t, "the pod of rank "+index+" continues", 4*time.Minute, func() bool {
			next[i] = m.rank(t, index)
			return next[i] != nil && next[i].UID != old[i].UID && m.hasEvent(t, next[i].Name, "Moved", "")
		})
	}
	return next
}

// ranksEnd waits until the job has ended. Its Job counts no failure.
func (m *moves) ranksEnd(t *testing.T) {
	eventually(t, "the job ends", 5*time.Minute, func() bool {
		job, err := m.Kubernetes.BatchV1().Jobs(m.run.Setup.Namespace).Get(t.Context(), ddpName, metav1.GetOptions{})
		require.NoError(t, err)
		require.Zero(t, job.Status.Failed)
		return job.Status.Succeeded == 2
	})
}

// startUndisturbedRanks trains the same job on this machine, without Trellis. The function that it returns waits for its log.
func startUndisturbedRanks(t *testing.T, steps int) func() string {
	scripts, err := jobs.Scripts()
	require.NoError(t, err)
	folder := t.TempDir()
	for name, text := range scripts {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	cmd := exec.CommandContext(t.Context(), training.MachinePython, "ddp.py", "--steps", strconv.Itoa(steps), "--seed", "7")
	cmd.Dir, cmd.Env = folder, []string{"OMP_NUM_THREADS=1"}
	ended := make(chan string, 1)
	go func() {
		out, err := cmd.CombinedOutput()
		ended <- fmt.Sprintf("%s%v\n", out, err)
	}()
	return func() string {
		log := <-ended
		require.Len(t, ddpResult.FindStringSubmatch(log), 2, log)
		return log
	}
}

func lossesOf(log string) map[string]string {
	losses := map[string]string{}
	for _, point := range ddpLoss.FindAllStringSubmatch(log, -1) {
		losses[point[1]] = point[2]
	}
	return losses
}

// submitRanks creates the Job.
func (m *moves) submitRanks(t *testing.T) {
	_, err := m.Kubernetes.BatchV1().Jobs(m.run.Setup.Namespace).Create(t.Context(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: ddpName},
		Spec:       m.ranks(t),
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// ranks returns an Indexed Job of two ranks that counts each failure, and creates a Service in front of rank 0.
func (m *moves) ranks(t *testing.T) batchv1.JobSpec {
	pod, address := m.rankTemplate(t)
	train := &pod.Spec.Containers[0]
	for name, value := range map[string]string{"WORLD_SIZE": "2", "MASTER_ADDR": address, "MASTER_PORT": strconv.Itoa(ddpPort)} {
		train.Env = append(train.Env, corev1.EnvVar{Name: name, Value: value})
	}
	return indexed(pod, 2)
}

// rankTemplate returns the pod of a rank, without what its controller says about the other one, and creates a Service in front of
// rank 0. The cluster has no DNS, so the address of the Service is returned too.
func (m *moves) rankTemplate(t *testing.T) (pod *corev1.Pod, address string) {
	job := movingJobs(t)[0]
	job.Name, job.GPUMemory = ddpName, ddpMemory
	pod = m.trainer(job)
	selector := m.labelsOf("0")
	selector[jobLabel] = ddpName
	service, err := m.Kubernetes.CoreV1().Services(pod.Namespace).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: ddpName},
		Spec: corev1.ServiceSpec{
			Selector:                 selector,
			Ports:                    []corev1.ServicePort{{Port: ddpPort}},
			PublishNotReadyAddresses: true,
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	train := &pod.Spec.Containers[0]
	train.Command = []string{"/bin/sh", "-c", fmt.Sprintf(ddpScript, m.run.Setup.Python, m.rankSteps)}
	train.Env = append(train.Env, corev1.EnvVar{Name: "GLOO_SOCKET_IFNAME", Value: "eth0"})
	return pod, service.Spec.ClusterIP
}

// ofIndex returns the label that an Indexed Job gives the pod of a rank.
func ofIndex(index string) labels.Set {
	return labels.Set{batchv1.JobCompletionIndexAnnotation: index}
}

// rank returns the newest pod of a rank that is not being deleted; nil if there is none.
func (m *moves) rank(t *testing.T, index string) (newest *corev1.Pod) {
	t.Helper()
	list, err := m.Kubernetes.CoreV1().Pods(m.run.Setup.Namespace).List(t.Context(), metav1.ListOptions{
		LabelSelector: jobLabel + "=" + ddpName + "," + m.labelsOf(index).String(),
	})
	require.NoError(t, err)
	for i := range list.Items {
		p := &list.Items[i]
		if p.DeletionTimestamp == nil && (newest == nil || newest.CreationTimestamp.Before(&p.CreationTimestamp)) {
			newest = p
		}
	}
	return newest
}

// trainingRank waits until a rank has made a number of steps, and returns its pod.
func (m *moves) trainingRank(t *testing.T, index string, steps int64) (pod *corev1.Pod) {
	eventually(t, fmt.Sprintf("rank %s has made %d steps", index, steps), startTime, func() bool {
		if pod = m.rank(t, index); pod == nil {
			return false
		}
		sample := m.sample(t, pod.Name)
		return sample != nil && sample.Sample.Step >= steps
	})
	return pod
}

// savedStep returns the step that a pod has saved for its move.
func (m *moves) savedStep(t *testing.T, pod string) string {
	var all cluster.Stories
	stories, err := all.New(t.Context(), m.Connection, m.run.Setup.Namespace)
	require.NoError(t, err)
	for _, story := range stories {
		if found := savedStep.FindStringSubmatch(story.Text); story.Object == pod && found != nil {
			return found[1]
		}
	}
	require.Fail(t, "no event says what was saved", pod)
	return ""
}
