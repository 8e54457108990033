//go:build e2e && linux

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
	"github.com/trellis-gpu/trellis/benchmarks/jobs"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// moveNodes is a node for the job, one to move to, and one more that a move must not choose.
const moveNodes = 3

// movesFile has the jobs that move: the same program, once in a Job and once in a bare pod.
const movesFile = `name,kind,arrival_seconds,steps,batch_size,gpu_mem,cpu,metric,progress,seed
owned,gru,0,1000,64,4Gi,150m,loss:min,socket,31
bare,gru,0,1000,64,4Gi,150m,loss:min,socket,31
`

// jobLabel has the name of the job of a pod.
const jobLabel = "bench.trellis/job"

// TestMoves moves real jobs between nodes, as their users ask. Their checkpoints are in a folder of this machine, which is the same
// on all nodes.
func TestMoves(t *testing.T) {
	t.Parallel()
	skipUnlessRoot(t)
	undisturbed := startUndisturbed(t) // while the cluster comes up, so that it delays no move
	m := newMoves(t)
	t.Run("together", func(t *testing.T) {
		for _, job := range m.jobs {
			t.Run(job.Name+" moves twice", func(t *testing.T) { t.Parallel(); m.movesTwice(t, job) })
		}
		t.Run("pause and resume", func(t *testing.T) { t.Parallel(); m.pauses(t) })
		t.Run("save", func(t *testing.T) { t.Parallel(); m.saves(t, m.saver("saver")) })
		t.Run("save by a signal", func(t *testing.T) { t.Parallel(); m.saves(t, m.signalSaver("signalled")) })
		t.Run("a job that cannot save stays", func(t *testing.T) { t.Parallel(); m.refuses(t) })
	})
	want := undisturbed()
	for _, job := range m.jobs {
		require.Equal(t, want, m.results[job.Name], "%s ends as if nothing had happened", job.Name)
	}
	m.printCosts(t)
}

// moves is a stage with jobs that move.
type moves struct {
	*stage
	folder string // of the checkpoints
	// labelsOf returns the labels that the controller of a job of several ranks gives the pod of one.
	labelsOf func(rank string) labels.Set
	// rankSteps is the length of that job.
	rankSteps int

	mu      sync.Mutex
	results map[string]string // fingerprints by job
}

// newMoves brings up a cluster with the component moves, and further ones.
func newMoves(t *testing.T, further ...string) *moves {
	m := &moves{folder: t.TempDir(), labelsOf: ofIndex, rankSteps: ddpSteps, results: map[string]string{}}
	m.stage = newStageOf(t, "moves", buildLocal(t), "", func(l *cluster.Local) {
		l.Nodes, l.GPUs, l.Components = moveNodes, "emulated:1x24GiB", append([]string{"moves"}, further...)
	})
	m.jobs = movingJobs(t)
	t.Cleanup(func() { m.printEvents(t) })
	return m
}

// printEvents prints the events of a failed test.
func (m *moves) printEvents(t *testing.T) {
	if !t.Failed() {
		return
	}
	list, err := m.Kubernetes.CoreV1().Events(m.run.Setup.Namespace).List(context.WithoutCancel(t.Context()), metav1.ListOptions{})
	require.NoError(t, err)
	for _, e := range list.Items {
		t.Logf("%s %s %s: %s", e.LastTimestamp.Format(time.TimeOnly), e.InvolvedObject.Name, e.Reason, e.Message)
	}
}

func movingJobs(t *testing.T) workload.Workload {
	moving, err := workload.Parse(strings.NewReader(movesFile))
	require.NoError(t, err)
	return moving
}

// resultOf returns the hash of everything that a job has learned.
func resultOf(t *testing.T, log string) string {
	found := fingerprint.FindStringSubmatch(log)
	require.Len(t, found, 2, "the job has no last line:\n%s", log)
	return found[1]
}

// startUndisturbed trains the job on this machine, without Trellis. The function that it returns waits for the result.
func startUndisturbed(t *testing.T) func() string {
	scripts, err := jobs.Scripts()
	require.NoError(t, err)
	folder := t.TempDir()
	for name, text := range scripts {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	var out bytes.Buffer
	command := ungated(t, folder, movingJobs(t)[0])
	command.Stdout, command.Stderr = &out, &out
	require.NoError(t, command.Start())
	return func() string {
		require.NoError(t, command.Wait(), out.String())
		return resultOf(t, out.String())
	}
}

// movesTwice runs a job and moves it when it has made 30 % and 70 % of its steps.
func (m *moves) movesTwice(t *testing.T, job workload.Job) {
	m.submit(t, job)
	was := map[string]bool{}
	for _, part := range []float64{.3, .7} {
		pod := m.training(t, job.Name, int64(part*float64(job.Steps)))
		was[pod.Spec.NodeName] = true
		to := m.otherNode(was)
		m.plugin(t, "move", pod.Name, "-n", pod.Namespace, "--to", to)
		eventually(t, job.Name+" has moved to "+to, 2*time.Minute, func() bool {
			now := m.podOf(t, job.Name)
			require.LessOrEqual(t, m.running(t, job), 1, "the job never runs twice at a time")
			return now != nil && now.UID != pod.UID && m.hasEvent(t, now.Name, "Moved", "from node "+pod.Spec.NodeName+" to "+to)
		})
	}
	var last *corev1.Pod
	eventually(t, job.Name+" ends", 3*time.Minute, func() bool {
		last = m.podOf(t, job.Name)
		return last != nil && last.Status.Phase == corev1.PodSucceeded
	})
	result := resultOf(t, m.log(t, last.Name))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.results[job.Name] = result
}

// submit creates the pod of a job, or a Job with it. The Job allows no failure: a move is none.
func (m *moves) submit(t *testing.T, job workload.Job) {
	pod := m.trainer(job)
	if job.Name != "owned" {
		m.create(t, pod)
		return
	}
	_, err := m.Kubernetes.BatchV1().Jobs(pod.Namespace).Create(t.Context(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: job.Name, Namespace: pod.Namespace},
		Spec: batchv1.JobSpec{
			BackoffLimit: new(int32),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels, Annotations: pod.Annotations},
				Spec:       pod.Spec,
			},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// trainer returns the pod of a job whose checkpoints are on all nodes.
func (m *moves) trainer(job workload.Job) *corev1.Pod {
	job.Further = []string{"--preprocess", "0.1"}
	pod := m.run.Setup.Pod(job)
	pod.Labels[jobLabel] = job.Name
	pod.Annotations[gpushare.TuneAnnotation] = string(gpushare.TuneLoaders)
	m.share(pod, job.Name)
	return pod
}

// share puts the checkpoints of a pod into a folder of this machine.
func (m *moves) share(pod *corev1.Pod, name string) {
	for i := range pod.Spec.Volumes {
		if v := &pod.Spec.Volumes[i]; v.EmptyDir != nil {
			v.VolumeSource = corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{
				Path: filepath.Join(m.folder, name),
				Type: new(corev1.HostPathDirectoryOrCreate),
			}}
		}
	}
}

// podOf returns the newest pod of a job that is not being deleted; nil if there is none.
func (m *moves) podOf(t *testing.T, job string) (newest *corev1.Pod) {
	t.Helper()
	list, err := m.Kubernetes.CoreV1().Pods(m.run.Setup.Namespace).List(t.Context(), metav1.ListOptions{LabelSelector: jobLabel + "=" + job})
	require.NoError(t, err)
	for i := range list.Items {
		p := &list.Items[i]
		if p.DeletionTimestamp == nil && len(p.Spec.SchedulingGates) == 0 && (newest == nil || newest.CreationTimestamp.Before(&p.CreationTimestamp)) {
			newest = p
		}
	}
	return newest
}

// training waits until a job has made a number of steps, and returns its pod.
func (m *moves) training(t *testing.T, job string, steps int64) (pod *corev1.Pod) {
	eventually(t, fmt.Sprintf("%s has made %d steps", job, steps), startTime, func() bool {
		if pod = m.podOf(t, job); pod == nil {
			return false
		}
		sample := m.sample(t, pod.Name)
		return sample != nil && sample.Sample.Step >= steps
	})
	return pod
}

func (m *moves) otherNode(was map[string]bool) string {
	for i := 1; i <= moveNodes; i++ {
		if name := fmt.Sprintf("node-%d", i); !was[name] {
			return name
		}
	}
	return ""
}

// running counts the first processes of a job's containers.
func (m *moves) running(t *testing.T, job workload.Job) (count int) {
	uids := map[string]bool{}
	list, err := m.Kubernetes.CoreV1().Pods(m.run.Setup.Namespace).List(t.Context(), metav1.ListOptions{LabelSelector: jobLabel + "=" + job.Name})
	require.NoError(t, err)
	for _, p := range list.Items {
		uids[string(p.UID)] = true
	}
	for _, process := range trainers(t) {
		for uid := range uids {
			if strings.Contains(process.cgroups, uid) {
				count++
			}
		}
	}
	return count
}

// movedEvent matches the parts of a move's cost in its event.
var movedEvent = regexp.MustCompile(` in (\S+): (\S+) until it had saved, (\S+) until its old pod was gone, ` +
	`(\S+) until the new one had its node, (\S+) until its containers ran[^,]*, (\S+) until`)

// printCosts prints what each move has cost.
func (m *moves) printCosts(t *testing.T) {
	var all cluster.Stories
	stories, err := all.New(t.Context(), m.Connection, m.run.Setup.Namespace)
	require.NoError(t, err)
	var totals []time.Duration
	for _, story := range stories {
		if parts := movedEvent.FindStringSubmatch(story.Text); parts != nil {
			t.Logf("%-28s total %-6s save %-6s evict %-6s place %-6s start %-6s restore %s",
				story.Object, parts[1], parts[2], parts[3], parts[4], parts[5], parts[6])
			total, err := time.ParseDuration(parts[1])
			require.NoError(t, err)
			totals = append(totals, total)
		}
	}
	require.Len(t, totals, 2*len(m.jobs))
	slices.Sort(totals)
	t.Logf("median of %d moves: %s", len(totals), (totals[len(totals)/2-1]+totals[len(totals)/2])/2)
}
