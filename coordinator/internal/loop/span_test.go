package loop_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/coordinator/internal/loop"
	"github.com/trellis-gpu/trellis/coordinator/internal/metrics"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/socket"
	"github.com/trellis-gpu/trellis/coordinator/internal/publish"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus/membus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// python is an interpreter with PyTorch.
const python = "/usr/bin/python3"

// TestLoop_RanksOnTwoNodesSaveAndPauseTogether runs ddp.py with the real shim: two ranks that reduce their gradients over gloo,
// each with a coordinator of its own, and a bus between the coordinators. The job saves once, waits, is killed, and continues
// from the checkpoint with the losses of a run that was left alone.
func TestLoop_RanksOnTwoNodesSaveAndPauseTogether(t *testing.T) {
	if testing.Short() {
		t.Skip("it trains for a minute")
	}
	if exec.CommandContext(t.Context(), python, "-c", "import importlib.util as u, sys; sys.exit(not u.find_spec('torch'))").Run() != nil {
		t.Skip("SKIPPED: ranks on two nodes were not tested with PyTorch, which " + python + " does not have")
	}
	between := membus.New()
	nodes := []*spanned{newSpanned(t, "a", between), newSpanned(t, "b", between)}
	checkpoints := t.TempDir()
	ranks := startRanks(t, nodes, checkpoints, "0.1") // slow enough to save and to pause before the end
	require.Eventually(t, func() bool {
		return nodes[0].countEvents("a FirstMetric") == 1 && nodes[1].countEvents("b FirstMetric") == 1
	}, 2*time.Minute, 50*time.Millisecond, "both coordinators hear their ranks")

	nodes[0].annotate("a", gpushare.SaveAnnotation, "now")
	require.Eventually(t, func() bool { return nodes[0].annotation("a", gpushare.SavedAnnotation) != "" }, time.Minute, 100*time.Millisecond)
	require.Contains(t, nodes[0].annotation("a", gpushare.SavedAnnotation), "now step=")
	require.Eventually(t, func() bool { return nodes[1].countEvents("b Saved: The job saved a checkpoint") == 1 }, time.Minute, 50*time.Millisecond)
	nodes[1].annotate("b", gpushare.PausedAnnotation, "true")
	require.Eventually(t, func() bool {
		return nodes[0].countEvents("a Paused: ") == 1 && nodes[1].countEvents("b Paused: ") == 1
	}, time.Minute, 100*time.Millisecond, "both ranks wait")
	for _, r := range ranks {
		r.kill()
	}
	nodes[1].annotate("b", gpushare.PausedAnnotation, "")

	resumed := startRanks(t, nodes, checkpoints, "0")
	resumed[0].waitFor(t, "resumes at step=")
	for _, r := range resumed {
		r.wait(t)
	}
	alone := startRanks(t, nodes, t.TempDir(), "0")
	for _, r := range alone {
		r.wait(t)
	}
	all := alone[0].losses()
	again := resumed[0].losses()
	require.NotEmpty(t, again)
	require.Equal(t, all[len(all)-len(again):], again, "the same losses, and the same state at the end")
}

// spanned is a node with a real socket and a real writer of records; the rest is played by its harness.
type spanned struct {
	*harness
	name, state string
}

func newSpanned(t *testing.T, name string, between *membus.Bus) *spanned {
	s := &spanned{harness: newHarness(t), name: name, state: t.TempDir()}
	quiet := slog.New(slog.DiscardHandler)
	config := node.Config{Policy: policy.Fair, Interval: time.Second, Alpha: .05, Beta: 2, Objective: .4, Damping: node.KubeletDamping(time.Second)}
	s.loop = loop.New(config, metrics.New(prometheus.NewRegistry(), func() time.Duration { return 0 }), quiet)
	require.NoError(t, os.MkdirAll(s.slot(), 0o755))
	sockets, err := socket.New(s.state, socket.DefaultLimits, quiet, s.loop.Socket)
	require.NoError(t, err)
	t.Cleanup(sockets.Shutdown)
	records := publish.NewRecords(between.Session(), growth.NodeName(name), time.Second, quiet)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	t.Cleanup(func() { stop(); running.Wait() })
	running.Go(func() {
		_ = s.loop.Run(ctx, loop.Ports{Sockets: sockets, Usages: s, Logs: s, Files: files{s.harness}, Enforcer: s, Records: records, Pods: s, Memory: s})
	})
	running.Go(func() { _ = records.Run(ctx) })
	running.Go(func() { s.loop.FollowAllocations(ctx, s.bus.Session(), "node") })
	running.Go(func() { s.loop.FollowGangs(ctx, between.Session(), growth.NodeName(name)) })
	s.loop.Capacity(2 * growth.Core)
	s.apply(node.Pod{
		Ref:         ref(name),
		Running:     true,
		Owner:       "ddp",
		Command:     "ddp.py",
		Distributed: true,
		Annotations: map[string]string{gpushare.MemoryAnnotation: "1", gpushare.TuneAnnotation: "none"},
		Containers:  []node.Container{{Name: "train", Request: 500}},
	})
	s.allocate(name)
	return s
}

func (s *spanned) slot() string { return filepath.Join(s.state, gpushare.SlotsDir, "slot-"+s.name) }

func (s *spanned) annotate(pod, name, value string) {
	p, _ := s.pod(ref(pod).UID)
	p.Annotations[name] = value
	s.apply(p)
}

func (s *spanned) annotation(pod, name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.annotations[pod][name]
}

// rank is a process of the job.
type rank struct {
	cmd  *exec.Cmd
	done chan error

	mu    sync.Mutex
	lines []string
}

// paced runs a program with a pause after each step, of as many seconds as its first argument says.
const paced = `import gpushare, runpy, sys, time
step, pause = gpushare.step, float(sys.argv[1])
gpushare.step = lambda **report: (step(**report), time.sleep(pause))
sys.argv = sys.argv[2:]
sys.path.insert(0, sys.argv[0].rpartition("/")[0])
runpy.run_path(sys.argv[0], run_name="__main__")`

// startRanks starts one rank on each node, with a pause in seconds after each step.
func startRanks(t *testing.T, nodes []*spanned, checkpoints, pause string) []*rank {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := free.Addr().(*net.TCPAddr).Port
	require.NoError(t, free.Close())
	shim, err := filepath.Abs("../../../growth/shim")
	require.NoError(t, err)
	var ranks []*rank
	for i, n := range nodes {
		r := &rank{done: make(chan error, 1)}
		r.cmd = exec.CommandContext(t.Context(), python, "-c", paced, pause, "../../../benchmarks/jobs/ddp.py",
			"--steps", "300", "--batch-size", "8", "--checkpoint-dir", checkpoints)
		r.cmd.Env = append(os.Environ(), "PYTHONPATH="+shim, "PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1", "OMP_NUM_THREADS=1", "GPUSHARE_DIR="+n.slot(),
			fmt.Sprint("RANK=", i), "LOCAL_RANK=0", "WORLD_SIZE=2", "LOCAL_WORLD_SIZE=1", "MASTER_ADDR=127.0.0.1", fmt.Sprint("MASTER_PORT=", port), "GLOO_SOCKET_IFNAME=lo")
		out, err := r.cmd.StdoutPipe()
		require.NoError(t, err)
		r.cmd.Stderr = r.cmd.Stdout
		require.NoError(t, r.cmd.Start())
		go func() {
			for lines := bufio.NewScanner(out); lines.Scan(); {
				r.mu.Lock()
				r.lines = append(r.lines, lines.Text())
				r.mu.Unlock()
			}
			r.done <- r.cmd.Wait()
		}()
		t.Cleanup(r.kill)
		ranks = append(ranks, r)
	}
	return ranks
}

func (r *rank) kill() { _ = r.cmd.Process.Kill() }

func (r *rank) printed() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.lines...)
}

func (r *rank) waitFor(t *testing.T, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(strings.Join(r.printed(), "\n")+"\n", text) },
		2*time.Minute, 50*time.Millisecond, "%s", r.printed())
}

func (r *rank) wait(t *testing.T) {
	t.Helper()
	select {
	case err := <-r.done:
		require.NoError(t, err, "%s", r.printed())
	case <-time.After(3 * time.Minute):
		t.Fatalf("the rank does not end: %s", r.printed())
	}
}

// losses returns the losses and the last line, from the first full mean on.
func (r *rank) losses() (lines []string) {
	for _, line := range r.printed() {
		if strings.Contains(line, "loss=") || strings.Contains(line, "finished") {
			lines = append(lines, line)
		}
	}
	return lines
}
