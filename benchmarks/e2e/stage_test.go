//go:build e2e && linux

package e2e

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
	"github.com/trellis-gpu/trellis/benchmarks/internal/demo"
	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
	"github.com/trellis-gpu/trellis/benchmarks/internal/table"
	"github.com/trellis-gpu/trellis/benchmarks/internal/training"
	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
	"github.com/trellis-gpu/trellis/benchmarks/jobs"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/policy"
)

const (
	nodes = 2
	gpu   = 24 * growth.GiB
)

// workloadFile has five jobs that outlast the faults. Two of them run until they have converged, on a machine of any
// speed.
const workloadFile = `name,kind,arrival_seconds,steps,batch_size,gpu_mem,cpu,metric,progress,seed
vae,vae,0,1200,64,8Gi,150m,loss:min,socket,1
cnn,cnn,0,700,64,6Gi,150m,loss:min,socket,2
gru,gru,2,1600,64,7Gi,150m,loss:min,socket,3
rnn,rnn,4,900,64,4Gi,150m,loss:min,socket,4
quiet,lstm,6,600,64,500Mi,150m,loss:min,log:loss=([0-9.eE+-]+),5
`

// stage is a cluster with Trellis, and a run on it.
type stage struct {
	local cluster.Local
	*cluster.Connection
	run  *demo.Run
	jobs workload.Workload
}

// newStage brings a cluster up with Trellis as it is in this checkout.
func newStage(t *testing.T) *stage {
	skipUnlessRoot(t)
	return newStageOf(t, "path", buildLocal(t), "")
}

func skipUnlessRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: a local cluster needs root")
	}
}

// buildLocal builds the tool of the local cluster and returns its path.
func buildLocal(t *testing.T) string {
	program := filepath.Join(t.TempDir(), "local")
	out, err := exec.Command("go", "build", "-C", "../../deploy/local", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, string(out))
	return program
}

// newStageOf brings a cluster up with the Trellis that program installs when it runs in folder, after changes to the cluster's
// description. At the end of the test the cluster goes down, which the program checks.
func newStageOf(t *testing.T, name, program, folder string, changes ...func(*cluster.Local)) *stage {
	s := &stage{local: cluster.Local{
		Program: program,
		Folder:  folder,
		Name:    fmt.Sprintf("%s-%06x", name, rand.IntN(1<<24)),
		Nodes:   nodes,
		GPUs:    "emulated:2x24GiB",
		Out:     os.Stderr,
		Err:     os.Stderr,
	}}
	for _, change := range changes {
		change(&s.local)
	}
	t.Cleanup(func() { require.NoError(t, s.local.Down(context.Background()), "the cluster left something behind") })
	require.NoError(t, s.local.Up(t.Context(), os.Getpid()))
	require.NoError(t, s.local.Install(t.Context(), string(policy.Default), policy.DefaultInterval))
	kubeconfig, err := s.local.Kubeconfig(t.Context())
	require.NoError(t, err)
	s.Connection, err = cluster.Connect(kubeconfig)
	require.NoError(t, err)
	s.prepare(t)
	return s
}

// prepare creates the run's namespace and waits until Trellis is ready for pods.
func (s *stage) prepare(t *testing.T) {
	var err error
	s.jobs, err = workload.Parse(strings.NewReader(workloadFile))
	require.NoError(t, err)
	scripts, err := jobs.Scripts()
	require.NoError(t, err)
	image, err := s.MachineImage(t.Context(), time.Minute)
	require.NoError(t, err)
	folder, err := results.Create(filepath.Join(t.TempDir(), "results"))
	require.NoError(t, err)
	t.Cleanup(func() { s.keepLog(t, folder) })
	s.run = &demo.Run{
		Policy: string(policy.Default), Jobs: s.jobs, Scripts: scripts, Cluster: s.Connection, Folder: folder, Timeout: 10 * time.Minute,
		Screen: &table.Plain{Out: os.Stderr, Every: 20 * time.Second},
		Setup: training.Setup{
			Namespace: "path", Run: "path", Image: image, Python: training.MachinePython, MachineFolders: training.MachineFolders(),
		},
	}
	require.NoError(t, s.run.Prepare(t.Context()))
	s.awaitReady(t)
}

func (s *stage) awaitReady(t *testing.T) {
	ready, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	probe := s.run.Setup.Pod(s.jobs[0])
	probe.Name = "probe"
	want := cluster.Expectation{Nodes: s.local.Nodes, Policy: string(policy.Default), Probe: probe}
	require.NoError(t, s.AwaitReady(ready, want, func(text string) { t.Log(text) }))
}

// keepLog prints the log of a failed test.
func (s *stage) keepLog(t *testing.T, folder *results.Folder) {
	require.NoError(t, folder.Close())
	if log, err := os.ReadFile(filepath.Join(folder.Path, "demo.log")); err == nil && t.Failed() {
		t.Logf("everything that was seen:\n%s", log)
	}
}

func (s *stage) create(t *testing.T, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	made, err := s.Kubernetes.CoreV1().Pods(pod.Namespace).Create(t.Context(), pod, metav1.CreateOptions{})
	require.NoError(t, err)
	return made
}

func (s *stage) pod(t *testing.T, name string) *corev1.Pod {
	t.Helper()
	pod, err := s.Kubernetes.CoreV1().Pods(s.run.Setup.Namespace).Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	return pod
}

func (s *stage) log(t *testing.T, name string) string {
	t.Helper()
	stream, err := s.Kubernetes.CoreV1().Pods(s.run.Setup.Namespace).GetLogs(name, &corev1.PodLogOptions{}).Stream(t.Context())
	require.NoError(t, err)
	defer stream.Close()
	text, err := io.ReadAll(io.LimitReader(stream, 1<<20))
	require.NoError(t, err)
	return string(text)
}

// eventually waits for a condition that real processes bring about.
func eventually(t *testing.T, what string, within time.Duration, holds func() bool) {
	t.Helper()
	require.Eventually(t, holds, within, 500*time.Millisecond, what)
}
