//go:build e2e && linux

package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// saverScript is a job that makes ten steps a second, and whose checkpoint is the number of steps. It needs no PyTorch.
const saverScript = `
import time, gpushare
step = 0
def save(path):
    with open(path, "w") as file:
        file.write(str(step))
gpushare.on_save(save, "/checkpoints/job.txt")
for step in range(1, 1_000_000):
    gpushare.step(1 / step, step=step, total_steps=1_000_000)
    time.sleep(.1)
`

// saver returns a job that runs saverScript.
func (m *moves) saver(name string) *corev1.Pod {
	pod := m.longJob(name, "1Gi")
	pod.Spec.Containers[0].Command = []string{m.run.Setup.Python, "-c", saverScript}
	m.share(pod, name)
	return pod
}

// signalScript is a job with the same checkpoint that knows nothing of Trellis. It saves on SIGUSR1.
const signalScript = `
import os, signal, sys, time
step = 0
def save(*_):
    with open("/checkpoints/job.new", "w") as file:
        file.write(str(step))
    os.replace("/checkpoints/job.new", "/checkpoints/job.txt")
signal.signal(signal.SIGUSR1, save)
signal.signal(signal.SIGTERM, lambda *_: time.sleep(6) or sys.exit(143))
for step in range(1, 1_000_000):
    print("step=%d loss=%.4f" % (step, 1 / step), flush=True)
    time.sleep(.1)
`

// signalSaver returns a job that runs signalScript.
func (m *moves) signalSaver(name string) *corev1.Pod {
	pod := m.longJob(name, "1Gi")
	pod.Spec.Containers[0].Command = []string{m.run.Setup.Python, "-c", signalScript}
	pod.Annotations[gpushare.ProgressAnnotation] = "log:step=(?P<step>[0-9]+) loss=([0-9.]+)"
	pod.Annotations[gpushare.CheckpointAnnotation] = "signal:SIGUSR1"
	pod.Annotations[gpushare.CheckpointPathAnnotation] = "/checkpoints/job.txt"
	m.share(pod, name)
	return pod
}

// end deletes a pod, and waits until its processes have ended. Those of a pod that is deleted by force run on for seconds, while kubelet
// gives its devices, and so its slot, to the next pod. What they report then counts as that of the next one.
func (m *moves) end(t *testing.T, name string) {
	ctx := context.WithoutCancel(t.Context())
	err := m.Kubernetes.CoreV1().Pods(m.run.Setup.Namespace).Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(1))})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return m.gone(name) }, time.Minute, 200*time.Millisecond, name)
}

// pauses lets a running job wait, and continue.
func (m *moves) pauses(t *testing.T) {
	m.create(t, m.saver("waiter"))
	t.Cleanup(func() { m.end(t, "waiter") })
	eventually(t, "it trains", startTime, func() bool { return m.step(t, "waiter") > 5 })
	m.plugin(t, "pause", "waiter", "-n", m.run.Setup.Namespace)
	eventually(t, "it waits", time.Minute, func() bool { return m.hasEvent(t, "waiter", "Paused", "The job waits after step") })
	eventually(t, "its sample says so", 30*time.Second, func() bool { return m.sample(t, "waiter").Sample.Paused == bus.PauseComplete })
	before := m.step(t, "waiter")
	time.Sleep(5 * time.Second)
	require.Equal(t, before, m.step(t, "waiter"))
	m.plugin(t, "resume", "waiter", "-n", m.run.Setup.Namespace)
	eventually(t, "it continues", time.Minute, func() bool { return m.step(t, "waiter") > before })
	eventually(t, "an event says so", time.Minute, func() bool { return m.hasEvent(t, "waiter", "Resumed", "") })
}

// saves asks a job to save, and deletes its pod, which saves too.
func (m *moves) saves(t *testing.T, pod *corev1.Pod) {
	name := pod.Name
	m.create(t, pod)
	eventually(t, "it trains", startTime, func() bool { return m.step(t, name) > 5 })
	m.plugin(t, "save", name, "-n", m.run.Setup.Namespace)
	var answer gpushare.Saved
	eventually(t, "the pod has the answer", time.Minute, func() bool {
		var err error
		answer, err = gpushare.ParseSaved(m.pod(t, name).Annotations[gpushare.SavedAnnotation])
		return err == nil
	})
	require.Empty(t, answer.Failed)
	eventually(t, "an event says so", time.Minute, func() bool { return m.hasEvent(t, name, "Saved", "because its user asked for it") })
	content, err := os.ReadFile(filepath.Join(m.folder, name, "job.txt"))
	require.NoError(t, err)
	sum := sha256.Sum256(content)
	require.Equal(t, hex.EncodeToString(sum[:]), answer.SHA256)

	began := time.Now()
	require.NoError(t, m.Kubernetes.CoreV1().Pods(m.run.Setup.Namespace).Delete(t.Context(), name, metav1.DeleteOptions{}))
	eventually(t, "it has saved again", time.Minute, func() bool { return m.hasEvent(t, name, "Saved", "because its pod is being deleted") })
	eventually(t, "its pod is gone", time.Minute, func() bool { return !m.exists(t, name) })
	require.Less(t, time.Since(began), 10*time.Second, "within its grace period")
	later, err := os.ReadFile(filepath.Join(m.folder, name, "job.txt"))
	require.NoError(t, err)
	require.NotEqual(t, content, later)
}

// refuses asks to move a job that cannot save, without the plugin, which would not ask for it.
func (m *moves) refuses(t *testing.T) {
	pod := m.saver("fixed")
	pod.Annotations[gpushare.CheckpointAnnotation] = string(gpushare.CheckpointNone)
	uid := m.create(t, pod).UID
	t.Cleanup(func() { m.end(t, "fixed") })
	eventually(t, "it trains", startTime, func() bool { return m.step(t, "fixed") > 0 })
	request := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, gpushare.MoveAnnotation, gpushare.MoveAnywhere)
	_, err := m.Kubernetes.CoreV1().Pods(pod.Namespace).Patch(t.Context(), "fixed", types.MergePatchType, []byte(request), metav1.PatchOptions{})
	require.NoError(t, err)
	eventually(t, "an event says why not", time.Minute, func() bool { return m.hasEvent(t, "fixed", "MoveRefused", "it cannot save") })
	require.Equal(t, uid, m.pod(t, "fixed").UID)
	require.Nil(t, m.pod(t, "fixed").DeletionTimestamp)
}
