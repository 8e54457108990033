package loop_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/coordinator/internal/loop"
	"github.com/trellis-gpu/trellis/coordinator/internal/signalsave"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// saver answers a request to save after a minute.
type saver struct {
	sum string
	err error
}

func (s saver) Save(ctx context.Context, r node.SignalSave) (string, error) {
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case <-time.After(time.Minute):
		return s.sum, s.err
	}
}

// logging starts a job without the shim, in the container c1 with a volume.
func (h *harness) logging(volume string, annotations map[string]string) {
	annotations[gpushare.MemoryAnnotation] = "1"
	annotations[gpushare.ProgressAnnotation] = "log:loss=([0-9.]+)"
	h.apply(node.Pod{
		Ref:         ref("a"),
		Running:     true,
		Annotations: annotations,
		Containers:  []node.Container{{Name: "train", Request: 500, ID: "c1"}},
		Volumes:     []string{volume},
	})
}

func TestLoop_SavesBySignal(t *testing.T) {
	sum := strings.Repeat("0f", 32)
	for name, tc := range map[string]struct {
		checkpoints loop.Checkpoints
		want        string
	}{
		"it saves":        {saver{sum: sum}, "now step=0 sha256=" + sum + " path=/ckpt/job.pt"},
		"it does not":     {saver{err: errors.New("the volume is full")}, "now failed: the volume is full"},
		"without signals": {nil, "now failed: this coordinator sends no signals"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHarness(t)
				h.checkpoints = tc.checkpoints
				h.start(policy.Harmless)
				h.logging("/ckpt", map[string]string{
					gpushare.CheckpointAnnotation:     "signal:SIGUSR1",
					gpushare.CheckpointPathAnnotation: "/ckpt/job.pt",
					gpushare.SaveAnnotation:           "now",
				})
				h.advance(2 * time.Minute)
				h.mu.Lock()
				defer h.mu.Unlock()
				require.Equal(t, tc.want, h.annotations["a"][gpushare.SavedAnnotation])
			})
		})
	}
}

// processes are those of every container.
type processes []int

func (p processes) Processes(growth.PodUID, string) ([]int, error) {
	return append([]int(nil), p...), nil
}

func TestLoop_SavesARealProcessBySignal(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "job.pt")
	job := exec.Command("/bin/sh", "-c", `trap 'echo new >"$1.new"; mv "$1.new" "$1"' USR1; echo; while :; do sleep .02; done`, "sh", path)
	output, err := job.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, job.Start())
	t.Cleanup(func() {
		_ = job.Process.Kill()
		_ = job.Wait()
	})
	_, err = output.Read(make([]byte, 1)) // it has its handler
	require.NoError(t, err)

	h := newHarness(t)
	h.checkpoints = signalsave.Saver{Proc: "/proc", Processes: processes{job.Process.Pid}}
	h.start(policy.Harmless)
	h.logging(folder, map[string]string{
		gpushare.CheckpointAnnotation:     "signal:SIGUSR1",
		gpushare.CheckpointPathAnnotation: path,
		gpushare.SaveAnnotation:           "now",
	})
	sum := sha256.Sum256([]byte("new\n"))
	want := "now step=0 sha256=" + hex.EncodeToString(sum[:]) + " path=" + path
	require.Eventually(t, func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.annotations["a"][gpushare.SavedAnnotation] == want
	}, 30*time.Second, 20*time.Millisecond)
}

// slowFreezer takes a second to freeze a container.
type slowFreezer struct{ calls chan string }

func (f slowFreezer) Pause(_ growth.PodUID, container string) error {
	time.Sleep(time.Second)
	f.calls <- "pause " + container
	return nil
}

func (f slowFreezer) Resume(_ growth.PodUID, container string) error {
	f.calls <- "resume " + container
	return nil
}

func TestLoop_FreezesInOrder(t *testing.T) {
	for name, end := range map[string]func(h *harness){
		"the pause ends":  func(h *harness) { h.logging("/ckpt", map[string]string{}) },
		"the pod is gone": func(h *harness) { h.remove("a") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHarness(t)
				h.config.Freeze = true
				freezer := slowFreezer{calls: make(chan string, 10)}
				h.freezer = freezer
				h.start(policy.Harmless)
				h.logging("/ckpt", map[string]string{gpushare.PausedAnnotation: "true"})
				h.advance(500 * time.Millisecond)
				end(h)
				h.advance(time.Minute)
				require.Equal(t, "pause c1", <-freezer.calls)
				require.Equal(t, "resume c1", <-freezer.calls)
				require.Empty(t, freezer.calls)
			})
		})
	}
}

// The coordinator thaws everything at its end, and must not freeze anything after that.
func TestLoop_EndsAfterItsLastFreeze(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		h.config.Freeze = true
		freezer := slowFreezer{calls: make(chan string, 10)}
		h.freezer = freezer
		stop := h.start(policy.Harmless)
		h.logging("/ckpt", map[string]string{gpushare.PausedAnnotation: "true"})
		h.advance(500 * time.Millisecond)
		stop()
		require.Len(t, freezer.calls, 1)
	})
}
