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
	costFile  = flag.String("cost", "", "measure what the coordinator costs, and write it to this file")
	costQuick = flag.Bool("quick", false, "measure for a shorter time")
)

// What a full node is here.
const (
	crowd     = 30
	perSecond = 10
	flood     = 1000 // reports a second, of all jobs together
)

// TestCost measures what the loop costs with everything around it that is real: sockets with jobs of another process on
// them, cgroup files, the file on the node, the writer of records. The bus, the API server and kubelet are in memory.
func TestCost(t *testing.T) {
	if *costFile == "" {
		t.Skip("`make bench-coordinator` measures")
	}
	interval, lasts := policy.DefaultInterval, 120*time.Second
	if *costQuick {
		lasts = 20 * time.Second
	}
	n := newCrowd(t, interval)
	n.talk(perSecond, 5*time.Second) // everybody has arrived, and the heap has its size
	n.writes.reset()

	before, began := cpuTime(t), time.Now()
	n.talk(perSecond, lasts)
	used, elapsed := (cpuTime(t) - before).Seconds(), time.Since(began).Seconds()
	writes := float64(n.writes.most()) / max(elapsed/interval.Seconds(), 1)

	reports := testutil.ToFloat64(n.metrics.Reports)
	sent := n.talk(float64(flood)/crowd+1, 10*time.Second)
	accepted := testutil.ToFloat64(n.metrics.Reports) - reports

	report(t, []goal{
		atMost("coordinator CPU, 30 jobs at 10 reports/s", 100*used/elapsed, "% of a core", 1),
		atMost("resident memory at most", resident(t), "MiB", 40),
		atLeast("reports accepted a second", accepted/10, "1/s", flood),
		atLeast("of those sent", 100*accepted/sent, "%", 100),
		atMost("bus writes for a job and interval, at most", writes, "", 1),
	})
}

type crowdOfJobs struct {
	*world
	t       *testing.T
	state   string
	metrics *metrics.Metrics
	writes  *writes
}

func newCrowd(t *testing.T, interval time.Duration) *crowdOfJobs {
	n := &crowdOfJobs{world: newWorld(t), t: t, state: t.TempDir(), writes: &writes{by: map[string]int{}}}
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
	t.Cleanup(func() { cancel(); wg.Wait() })
	ports := loop.Ports{
		Sockets: sockets, Usages: cgroup.New(n.cgroups(), "/nowhere"), Logs: n, Files: files{n.world}, Enforcer: n, Records: records, Pods: n, Memory: memory,
	}
	for _, run := range []func(context.Context) error{
		func(ctx context.Context) error { return l.Run(ctx, ports) }, records.Run, memory.Run,
		func(ctx context.Context) error { l.FollowAllocations(ctx, n.bus.Session(), "node"); return nil },
	} {
		wg.Go(func() { _ = run(ctx) })
	}
	l.Capacity(16 * growth.Core)
	for i := range crowd {
		name := nameOf(i)
		require.NoError(t, os.MkdirAll(filepath.Join(n.state, gpushare.SlotsDir, "slot-"+name), 0o755))
		n.arrive(name)
	}
	return n
}

// nameOf makes UIDs as long as real ones, which cgroups are known by.
func nameOf(i int) string { return fmt.Sprintf("job-%030d", i) }

// cgroups are the jobs', as files.
func (n *crowdOfJobs) cgroups() string {
	root := n.t.TempDir()
	for i := range crowd {
		pod := filepath.Join(root, "kubepods", "burstable", "pod"+string(ref(nameOf(i)).UID))
		require.NoError(n.t, os.MkdirAll(pod, 0o755))
		for name, content := range map[string]string{"cpu.stat": "usage_usec 1000000\n", "cpu.weight": "20\n", "memory.current": "1000000\n", "io.stat": "8:0 rbytes=1 wbytes=2\n"} {
			require.NoError(n.t, os.WriteFile(filepath.Join(pod, name), []byte(content), 0o600))
		}
	}
	require.NoError(n.t, os.WriteFile(filepath.Join(root, "cgroup.controllers"), nil, 0o600))
	return root
}

// talk has another process report for every job, and returns how many reports it sent.
func (n *crowdOfJobs) talk(rate float64, lasts time.Duration) float64 {
	jobs := exec.CommandContext(n.t.Context(), os.Args[0], "-test.run=^TestTalk$", "-test.v")
	jobs.Env = append(os.Environ(), "TALK="+n.state, fmt.Sprintf("TALK_RATE=%f", rate), "TALK_LASTS="+lasts.String())
	out, err := jobs.CombinedOutput()
	require.NoError(n.t, err, string(out))
	_, count, _ := strings.Cut(string(out), "sent ")
	count, _, _ = strings.Cut(count, "\n")
	sent, err := strconv.ParseFloat(count, 64)
	require.NoError(n.t, err, string(out))
	time.Sleep(time.Second) // what is under way
	return sent
}

// TestTalk is the jobs' side, in a process of its own.
func TestTalk(t *testing.T) {
	state := os.Getenv("TALK")
	if state == "" {
		t.Skip("TestCost starts it")
	}
	rate, err := strconv.ParseFloat(os.Getenv("TALK_RATE"), 64)
	require.NoError(t, err)
	lasts, err := time.ParseDuration(os.Getenv("TALK_LASTS"))
	require.NoError(t, err)
	var wg sync.WaitGroup
	each := int(rate * lasts.Seconds())
	for i := range crowd {
		wg.Go(func() {
			conn, err := dial(filepath.Join(state, gpushare.SlotsDir, "slot-"+nameOf(i), gpushare.SocketName))
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = conn.Close() }()
			go func() { _, _ = io.Copy(io.Discard, conn) }()
			began := time.Now()
			for k := range each {
				line, _ := wire.Encode(wire.Progress{
					Step: began.Unix()*100 + int64(k), Steps: 3, Samples: 192, StepSeconds: .03, LoadSeconds: .01, TotalSteps: 1 << 50,
					Metrics: map[string]float64{"loss": 1 / float64(k+1), "accuracy": .5},
				})
				if _, err := conn.Write(line); err != nil {
					t.Error(err)
					return
				}
				time.Sleep(time.Until(began.Add(time.Duration(float64(k+1) / rate * float64(time.Second)))))
			}
		})
	}
	wg.Wait()
	fmt.Printf("sent %d\n", each*crowd)
}

// dial waits for the socket to be there.
func dial(path string) (net.Conn, error) {
	for deadline := time.Now().Add(10 * time.Second); ; {
		conn, err := net.Dial("unix", path)
		if err == nil || time.Now().After(deadline) {
			return conn, err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// writes is a bus that counts.
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

func (w *writes) reset() { w.mu.Lock(); defer w.mu.Unlock(); clear(w.by) }

func (w *writes) most() (most int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range w.by {
		most = max(most, n)
	}
	return most
}

func cpuTime(t *testing.T) time.Duration {
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// resident is the most memory this process ever had, in MiB.
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

// memory is the machine's, in bytes.
func memory(t *testing.T) int64 {
	text, err := os.ReadFile("/proc/meminfo")
	require.NoError(t, err)
	var kib int64
	_, err = fmt.Sscanf(string(text), "MemTotal: %d kB", &kib)
	require.NoError(t, err)
	return kib << 10
}

// goal is one figure, in the form that all of Trellis' benchmarks share.
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
		"name":    "coordinator",
		"quick":   *costQuick,
		"commit":  strings.TrimSpace(string(commit)),
		"date":    time.Now().UTC().Format(time.RFC3339),
		"machine": map[string]any{"cpus": runtime.NumCPU(), "memory": memory(t), "kernel": strings.TrimSpace(string(kernel)), "gpu": ""},
		"seeds":   []int{},
		"command": command,
		"settings": map[string]string{
			"coordinator --alpha":    fmt.Sprint(policy.DefaultAlpha),
			"coordinator --interval": policy.DefaultInterval.String(),
			"coordinator --policy":   string(policy.Default),
			"jobs":                   fmt.Sprintf("%d, each with %d reports a second", crowd, perSecond),
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
