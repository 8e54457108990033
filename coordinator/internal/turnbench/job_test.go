package turnbench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trellis-gpu/trellis/coordinator/internal/pods"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// job is a pod with one process.
type job struct {
	name   string
	id     growth.PodUID
	cmd    *exec.Cmd
	record string // path of the record of its steps
	done   chan struct{}

	mu      sync.Mutex
	started time.Duration
	ended   time.Duration
	losses  []loss
	lines   []string
	err     error
}

// loss is an evaluation that the job printed.
type loss struct {
	at    time.Duration
	value float64
}

// now reads the clock of the records.
func now() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return time.Duration(t.Nano())
}

// launch starts a job: the pod, its allocation, and its process with a program of benchmarks/jobs or testdata.
func (m *machine) launch(name, program string, args ...string) *job {
	t := m.b.t
	j := &job{name: name, record: filepath.Join(m.state, name+".steps"), done: make(chan struct{}), started: now()}
	j.id = growth.PodUID(fmt.Sprintf("%s-%d", name, j.started)) // a machine that remembers has seen jobs of this name
	words := append([]string{m.b.python, m.b.program(program)}, args...)
	j.cmd = exec.Command("taskset", append([]string{"-c", m.b.coreList()}, words...)...) // all cores, unlike this process
	j.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	j.cmd.Env = append(os.Environ(),
		"GPUSHARE_DIR="+m.slot(name),
		"PYTHONPATH="+m.b.testdata,
		"PYTHONUNBUFFERED=1",
		"PYTHONDONTWRITEBYTECODE=1",
		"OMP_NUM_THREADS=1",
		"BENCH_SHIM="+m.b.shim,
		"BENCH_RECORD="+j.record,
		fmt.Sprint("GPUSHARE_EMULATED_CORE=", m.b.cores[0]),
	)
	out, err := j.cmd.StdoutPipe()
	require.NoError(t, err)
	j.cmd.Stderr = j.cmd.Stdout
	_, err = j.cmd.StdinPipe() // a job that reads it ends with this process
	require.NoError(t, err)
	require.NoError(t, j.cmd.Start())
	m.arrive(j, words)
	go j.follow(out, func() { m.leave(j) })
	return j
}

// arrive shows the pod and its allocation to the coordinator.
func (m *machine) arrive(j *job, command []string) {
	m.put(bus.AllocationKey(nodeName, j.id), encode(m.b.t, bus.Allocation{
		Pod: growth.PodRef{Namespace: "bench", Name: j.name, UID: j.id},
		Containers: []bus.ContainerAllocation{{
			Name: "train",
			Slot: "slot-" + j.name,
			GPUs: []growth.GPUShare{{GPU: theGPU, Memory: 1024}},
		}},
	}))
	started := metav1.Now()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "bench",
			Name:      j.name,
			UID:       types.UID(j.id),
			Annotations: map[string]string{
				gpushare.MemoryAnnotation: "1",
				gpushare.MetricAnnotation: "loss:min",
				gpushare.TuneAnnotation:   "gpu-time,loaders",
			},
		},
		Spec: corev1.PodSpec{NodeName: string(nodeName), Containers: []corev1.Container{{
			Name:    "train",
			Image:   "machine",
			Command: command,
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")},
			},
		}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &started, ContainerStatuses: []corev1.ContainerStatus{{
			Name:        "train",
			ContainerID: "process://" + j.name,
			State:       corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: started}},
		}}},
	}
	m.mu.Lock()
	m.pods[j.id], m.jobs[j.id] = pod, j
	m.mu.Unlock()
	if c := m.coordinator; c != nil {
		c.loop.PodUpdated(pods.Read(pod))
	}
}

// leave shows the end of the pod.
func (m *machine) leave(j *job) {
	m.mu.Lock()
	pod := m.pods[j.id].DeepCopy()
	delete(m.pods, j.id)
	delete(m.jobs, j.id)
	m.mu.Unlock()
	pod.Status.Phase = corev1.PodSucceeded
	pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 0}}
	if c := m.coordinator; c != nil {
		c.loop.PodUpdated(pods.Read(pod))
		c.loop.PodDeleted(j.id)
	}
	_ = m.bus.Session().Delete(context.Background(), bus.AllocationKey(nodeName, j.id))
}

// follow reads the output of the job until it ends.
func (j *job) follow(out io.Reader, ended func()) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		j.mu.Lock()
		j.lines = append(j.lines, lines.Text())
		if value, ok := lossIn(lines.Text()); ok {
			j.losses = append(j.losses, loss{now(), value})
		}
		j.mu.Unlock()
	}
	err := j.cmd.Wait()
	j.mu.Lock()
	j.ended, j.err = now(), err
	j.mu.Unlock()
	ended()
	close(j.done)
}

func lossIn(line string) (value float64, ok bool) {
	for word := range strings.FieldsSeq(line) {
		if text, found := strings.CutPrefix(word, "loss="); found {
			_, err := fmt.Sscan(text, &value)
			return value, err == nil && !strings.HasPrefix(line, "finished")
		}
	}
	return 0, false
}

// wait waits for the end of the job, which must be a success.
func (j *job) wait(b *bench) {
	<-j.done
	require.NoError(b.t, j.err, "%s: %s", j.name, strings.Join(j.lines, "\n"))
}

// kill ends the job with all its processes.
func (j *job) kill() {
	j.signal(syscall.SIGKILL)
	<-j.done
}

func (j *job) signal(s syscall.Signal) { _ = syscall.Kill(-j.cmd.Process.Pid, s) }

// output returns the last line that begins with a word.
func (j *job) output(word string) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, line := range slices.Backward(j.lines) {
		if strings.HasPrefix(line, word) {
			return line
		}
	}
	return ""
}

// steps returns the record so far.
func (j *job) steps(b *bench) []step {
	steps, err := readSteps(j.record)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	require.NoError(b.t, err)
	return steps
}
