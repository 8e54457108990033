package loop_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/coordinator/internal/loop"
	"github.com/trellis-gpu/trellis/coordinator/internal/metrics"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/cgroup"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/socket"
	"github.com/trellis-gpu/trellis/coordinator/internal/publish"
	"github.com/trellis-gpu/trellis/coordinator/internal/recall"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
	"github.com/trellis-gpu/trellis/growth/wire"
)

var (
	costFile  = flag.String("cost", "", "measure the cost of the coordinator, and write it to this file")
	costQuick = flag.Bool("quick", false, "measure for a shorter time")
)

// The load of a full node.
const (
	jobCount  = 30
	perSecond = 10
	flood     = 1000 // reports a second, of all jobs together
)

// TestCost measures the cost of the loop with real ports: sockets of jobs in another process, cgroup files, the memory
// file and the writer of records. The bus, the API server and kubelet are fakes.
func TestCost(t *testing.T) {
	if *costFile == "" {
		t.Skip("`make bench-coordinator` measures")
	}
	interval := policy.DefaultInterval
	duration := 120 * time.Second
	if *costQuick {
		duration = 20 * time.Second
	}
	n := newFullNode(t, interval)
	n.talk(perSecond, 5*time.Second) // all jobs have arrived, and the heap has its size
	n.writes.reset()

	before := cpuTime(t)
	start := time.Now()
	n.talk(perSecond, duration)
	used := (cpuTime(t) - before).Seconds()
	elapsed := time.Since(start).Seconds()
	writes := float64(n.writes.max()) / max(elapsed/interval.Seconds(), 1)

	reports := testutil.ToFloat64(n.metrics.Reports)
	sent := n.talk(float64(flood)/jobCount+1, 10*time.Second)
	accepted := testutil.ToFloat64(n.metrics.Reports) - reports

	report(t, []goal{
		atMost("coordinator CPU, 30 jobs at 10 reports/s", 100*used/elapsed, "% of a core", 1),
		atMost("resident memory at most", resident(t), "MiB", 40),
		atLeast("reports accepted a second", accepted/10, "1/s", flood),
		atLeast("of those sent", 100*accepted/sent, "%", 100),
		atMost("bus writes for a job and interval, at most", writes, "", 1),
	})
}

// fullNode is a harness with jobCount jobs and real ports.
type fullNode struct {
	*harness
	t       *testing.T
	state   string
	metrics *metrics.Metrics
	writes  *writes
}

func newFullNode(t *testing.T, interval time.Duration) *fullNode {
	n := &fullNode{harness: newHarness(t), t: t, state: t.TempDir(), writes: &writes{by: map[string]int{}}}
	quiet := slog.New(slog.DiscardHandler)
	n.metrics = metrics.New(prometheus.NewRegistry(), func() time.Duration { return 0 })
	config := node.Config{
		Policy:    policy.Default,
		Interval:  interval,
		Alpha:     policy.DefaultAlpha,
		Beta:      policy.DefaultBeta,
		Objective: .4,
		Damping:   node.KubeletDamping(interval),
	}
	l := loop.New(config, n.metrics, quiet)
	n.loop = l
	sockets, err := socket.New(n.state, socket.DefaultLimits, quiet, l.Socket)
	require.NoError(t, err)
	t.Cleanup(sockets.Shutdown)
	records := publish.NewRecords(n.writes, "node", interval, quiet)
	memory := recall.New(n.state, quiet)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	ports := loop.Ports{
		Sockets:  sockets,
		Usages:   cgroup.New(n.cgroups(), "/nowhere"),
		Logs:     n,
		Files:    files{n.harness},
		Enforcer: n,
		Records:  records,
		Pods:     n,
		Memory:   memory,
	}
	for _, run := range []func(context.Context) error{
		func(ctx context.Context) error { return l.Run(ctx, ports) },
		records.Run,
		memory.Run,
		func(ctx context.Context) error {
			l.FollowAllocations(ctx, n.bus.Session(), "node")
			return nil
		},
	} {
		wg.Go(func() { _ = run(ctx) })
	}
	l.Capacity(16 * growth.Core)
	for i := range jobCount {
		name := nameOf(i)
		require.NoError(t, os.MkdirAll(filepath.Join(n.state, gpushare.SlotsDir, "slot-"+name), 0o755))
		n.arrive(name)
	}
	return n
}

// nameOf returns the name of a job, long enough for a UID that is recognised in the name of a cgroup.
func nameOf(i int) string { return fmt.Sprintf("job-%030d", i) }

// cgroups writes the cgroups of the jobs as files, and returns their root.
func (n *fullNode) cgroups() string {
	root := n.t.TempDir()
	for i := range jobCount {
		pod := filepath.Join(root, "kubepods", "burstable", "pod"+string(ref(nameOf(i)).UID))
		require.NoError(n.t, os.MkdirAll(pod, 0o755))
		for name, content := range map[string]string{
			"cpu.stat":       "usage_usec 1000000\n",
			"cpu.weight":     "20\n",
			"memory.current": "1000000\n",
			"io.stat":        "8:0 rbytes=1 wbytes=2\n",
		} {
			require.NoError(n.t, os.WriteFile(filepath.Join(pod, name), []byte(content), 0o600))
		}
	}
	require.NoError(n.t, os.WriteFile(filepath.Join(root, "cgroup.controllers"), nil, 0o600))
	return root
}

// talk starts a process that sends reports for all jobs, and returns the number of reports.
func (n *fullNode) talk(rate float64, duration time.Duration) float64 {
	jobs := exec.CommandContext(n.t.Context(), os.Args[0], "-test.run=^TestCost_Jobs$", "-test.v")
	jobs.Env = append(os.Environ(), "TALK="+n.state, fmt.Sprintf("TALK_RATE=%f", rate), "TALK_LASTS="+duration.String())
	out, err := jobs.CombinedOutput()
	require.NoError(n.t, err, string(out))
	_, count, _ := strings.Cut(string(out), "sent ")
	count, _, _ = strings.Cut(count, "\n")
	sent, err := strconv.ParseFloat(count, 64)
	require.NoError(n.t, err, string(out))
	time.Sleep(time.Second) // the last reports are read
	return sent
}

// TestCost_Jobs is the process of the jobs, which TestCost starts.
func TestCost_Jobs(t *testing.T) {
	state := os.Getenv("TALK")
	if state == "" {
		t.Skip("TestCost starts it")
	}
	rate, err := strconv.ParseFloat(os.Getenv("TALK_RATE"), 64)
	require.NoError(t, err)
	duration, err := time.ParseDuration(os.Getenv("TALK_LASTS"))
	require.NoError(t, err)
	var wg sync.WaitGroup
	each := int(rate * duration.Seconds())
	for i := range jobCount {
		wg.Go(func() {
			conn, err := dial(filepath.Join(state, gpushare.SlotsDir, "slot-"+nameOf(i), gpushare.SocketName))
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = conn.Close() }()
			go func() { _, _ = io.Copy(io.Discard, conn) }()
			start := time.Now()
			for k := range each {
				line, _ := wire.Encode(wire.Progress{
					Step:        start.Unix()*100 + int64(k),
					Steps:       3,
					Samples:     192,
					StepSeconds: .03,
					LoadSeconds: .01,
					TotalSteps:  1 << 50,
					Metrics:     wire.Metrics{{Name: "loss", Value: 1 / float64(k+1)}, {Name: "accuracy", Value: .5}},
				})
				if _, err := conn.Write(line); err != nil {
					t.Error(err)
					return
				}
				time.Sleep(time.Until(start.Add(time.Duration(float64(k+1) / rate * float64(time.Second)))))
			}
		})
	}
	wg.Wait()
	fmt.Printf("sent %d\n", each*jobCount)
}

// dial connects to a socket. It waits until the socket exists.
func dial(path string) (net.Conn, error) {
	for deadline := time.Now().Add(10 * time.Second); ; {
		conn, err := net.Dial("unix", path)
		if err == nil || time.Now().After(deadline) {
			return conn, err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// writes is a fake of the bus that counts the writes by key.
type writes struct {
	mu sync.Mutex
	by map[string]int
}

func (w *writes) Put(_ context.Context, key string, _ []byte, _ bus.Lifetime, _ ...bus.Guard) (bus.Revision, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.by[key]++
	return 1, nil
}

func (w *writes) Delete(context.Context, string, ...bus.Guard) error { return nil }

func (w *writes) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.by)
}

// max returns the writes of the key with the most writes.
func (w *writes) max() (highest int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range w.by {
		highest = max(highest, n)
	}
	return highest
}

func cpuTime(t *testing.T) time.Duration {
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// resident returns the peak resident memory of this process, in MiB.
func resident(t *testing.T) float64 {
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	for line := range strings.Lines(string(status)) {
		if words := strings.Fields(line); words[0] == "VmHWM:" {
			kib, err := strconv.ParseFloat(words[1], 64)
			require.NoError(t, err)
			return kib / 1024
		}
	}
	t.Fatal("no VmHWM")
	return 0
}

// memory returns the memory of the machine, in bytes.
func memory(t *testing.T) int64 {
	text, err := os.ReadFile("/proc/meminfo")
	require.NoError(t, err)
	var kib int64
	_, err = fmt.Sscanf(string(text), "MemTotal: %d kB", &kib)
	require.NoError(t, err)
	return kib << 10
}

// goal is one figure, in the format of all benchmarks of Trellis.
type goal struct {
	Name   string  `json:"name"`
	Value  float64 `json:"value"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Unit   string  `json:"unit"`
	Target float64 `json:"target"`
	Met    bool    `json:"met"`
}

func atMost(name string, value float64, unit string, target float64) goal {
	return goal{name, value, value, value, unit, target, value <= target}
}

func atLeast(name string, value float64, unit string, target float64) goal {
	return goal{name, value, value, value, unit, target, value >= target}
}

func report(t *testing.T, goals []goal) {
	commit, _ := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	command := "make bench-coordinator"
	if *costQuick {
		command += ` ARGS="-quick"`
	}
	content, err := json.MarshalIndent(map[string]any{
		"name":   "coordinator",
		"quick":  *costQuick,
		"commit": strings.TrimSpace(string(commit)),
		"date":   time.Now().UTC().Format(time.RFC3339),
		"machine": map[string]any{
			"cpus":   runtime.NumCPU(),
			"memory": memory(t),
			"kernel": strings.TrimSpace(string(kernel)),
			"gpu":    "",
		},
		"seeds":   []int{},
		"command": command,
		"settings": map[string]string{
			"coordinator --alpha":    fmt.Sprint(policy.DefaultAlpha),
			"coordinator --interval": policy.DefaultInterval.String(),
			"coordinator --policy":   string(policy.Default),
			"jobs":                   fmt.Sprintf("%d, each with %d reports a second", jobCount, perSecond),
		},
		"phases": []any{},
		"goals":  goals,
	}, "", "  ")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(*costFile, append(content, '\n'), 0o644))
	for _, g := range goals {
		t.Logf("%-45s %8.2f %s, goal %g: %v", g.Name, g.Value, g.Unit, g.Target, g.Met)
	}
}
