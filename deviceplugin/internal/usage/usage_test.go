package usage_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/apiserver"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/usage"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

const uid = "1b4e28ba-2fa1-11d2-883f-0016d3cca427"

var underscored = strings.ReplaceAll(uid, "-", "_")

func TestPodOf(t *testing.T) {
	for name, tc := range map[string]struct{ cgroup, want string }{
		"v1, cgroupfs": {"12:memory:/kubepods/burstable/pod" + uid +
			"/9f86d081\n11:cpu,cpuacct:/kubepods/burstable/pod" + uid + "/9f86d081\n", uid},
		"v1, " +
			"systemd": {"4:memory:/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" + underscored +
			".slice/cri-containerd-9f86.scope", uid},
		"v2, systemd": {"0::/kubepods.slice/kubepods-pod" + underscored +
			".slice/cri-containerd-9f86.scope\n", uid},
		"v2, cgroupfs": {"0::/kubepods/guaranteed/pod" + uid + "/9f86\n", uid},
		"v2, in another cgroup namespace": {"0::/../../../kubepods-burstable-pod" + underscored +
			".slice/cri-containerd-9f86.scope", uid},
		"a nested node": {"9:memory:/outer/local/n1/kubepods/burstable/pod" + uid + "/9f86", uid},
		"a static pod": {"0::/kubepods/burstable/pod0123456789abcdef0123456789abcdef/9f86",
			"0123456789abcdef0123456789abcdef"},
		"the pod's own cgroup": {"0::/kubepods/pod" + uid, uid},
		"a system service":     {"0::/system.slice/sshd.service", ""},
		"a Docker container":   {"0::/docker/9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", ""},
		"a similar name":       {"0::/podracer/tripod" + uid + "x", ""},
		"nothing":              {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := usage.PodOf(tc.cgroup)
			require.Equal(t, growth.PodUID(tc.want), got)
			require.Equal(t, tc.want != "", ok)
		})
	}
}

func FuzzPodOf(f *testing.F) {
	f.Add("0::/kubepods/pod" + uid + "/x")
	f.Add("1:2")
	f.Fuzz(func(t *testing.T, cgroup string) {
		if got, ok := usage.PodOf(cgroup); ok {
			require.Contains(t, []int{32, 36}, len(got))
		}
	})
}

func TestSum_ByPodAndGPU(t *testing.T) {
	podOf := func(pid int) (growth.PodUID, bool) {
		name := map[int]growth.PodUID{1: "p", 2: "p", 3: "q"}[pid]
		return name, name != ""
	}
	require.Equal(t, []usage.Use{
		{
			Key:       usage.Key{Pod: "p", GPU: "A"},
			Memory:    300,
			Busy:      30,
			Processes: 2,
		},
		{
			Key:       usage.Key{Pod: "p", GPU: "B"},
			Memory:    7,
			Busy:      -1,
			Processes: 1,
		},
		{
			Key:       usage.Key{Pod: "q", GPU: "A"},
			Memory:    -1,
			Busy:      0,
			Processes: 1,
		},
	}, usage.Sum([]gpu.Process{
		{
			PID:    3,
			Device: "A",
			Memory: -1,
		}, {
			PID:    1,
			Device: "A",
			Memory: 100,
			Busy:   10,
		}, {
			PID:    2,
			Device: "A",
			Memory: 200,
			Busy:   20,
		},
		{
			PID:    1,
			Device: "B",
			Memory: 7,
			Busy:   -1,
		}, {PID: 99, Device: "A", Memory: 5000},
	}, podOf))
}

func TestExcessDetector(t *testing.T) {
	// The uses are those of a pod that requested 1000, ten seconds apart. The slack is 100. A warning follows after
	// 20 s, another after a minute, and an eviction after 40 s.
	for name, tc := range map[string]struct{ uses, want string }{
		"within the request":             {"1000 1000 1000 1000", ". . . ."},
		"within the slack":               {"1100 1100 1100 1100", ". . . ."},
		"briefly over the request":       {"2000 2000 900 2000", ". . . ."},
		"a warning and then an eviction": {"2000 2000 2000 2000 2000 2000", ". . w . e ."},
		"another warning after a minute": {"2000 2000 2000 2000 2000 2000 2000 2000 2000", ". . w . e . . . w"},
		"unknown use keeps the state":    {"2000 ? 2000", ". . w"},
	} {
		t.Run(name, func(t *testing.T) {
			j := usage.ExcessDetector{Config: usage.Config{
				Slack:        100,
				WarnAfter:    20 * time.Second,
				WarnInterval: time.Minute,
				EvictAfter:   40 * time.Second,
			}}
			key := usage.Key{Pod: "p", GPU: "A"}
			var got []string
			for i, word := range strings.Fields(tc.uses) {
				memory := growth.MiB(-1)
				_, _ = fmt.Sscan(word, &memory)
				action := "."
				for _, x := range j.Detect(time.Unix(int64(10*i), 0), []usage.Use{{
					Key:    key,
					Memory: memory,
				}}, map[usage.Key]growth.MiB{key: 1000}) {
					require.Equal(t, growth.MiB(1000), x.Requested)
					now := time.Unix(int64(10*i), 0)
					if x.Warn {
						action = "w"
						j.Warned(now, key)
					}
					if x.Evict {
						action = "e"
						j.Evicted(now, key)
					}
				}
				got = append(got, action)
			}
			require.Equal(t, tc.want, strings.Join(got, " "))
		})
	}
}

// fakeGPU has a fixed list of processes.
type fakeGPU struct {
	processes []gpu.Process
	hang      atomic.Int64 // nanoseconds
}

func (c *fakeGPU) Processes(context.Context) ([]gpu.Process, error) {
	time.Sleep(time.Duration(c.hang.Load()))
	return c.processes, nil
}

// fakeAPI records requests.
type fakeAPI struct {
	mu       sync.Mutex
	requests []string
	refuses  bool // the next one
}

func (a *fakeAPI) refuseNext() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refuses = true
}

func (a *fakeAPI) add(what string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests = append(a.requests, what)
	if a.refuses {
		a.refuses = false
		return &apiserver.StatusError{Code: http.StatusTooManyRequests, Message: "a disruption budget does not permit it"}
	}
	return nil
}

func (a *fakeAPI) recorded() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.requests)
}

func (a *fakeAPI) Warning(_ context.Context, about apiserver.ObjectRef, reason, message string) error {
	return a.add(reason + " " + about.Name + ": " + message)
}

func (a *fakeAPI) Create(_ context.Context, path string, object any) error {
	return a.add(fmt.Sprint(path, object))
}

func TestMeter_WarnsThenEvicts(t *testing.T) {
	proc := t.TempDir()
	for pid, cgroup := range map[string]string{"10": "0::/kubepods/pod" + uid + "/c",
		"11": "0::/system.slice/x.service"} {
		require.NoError(t, os.Mkdir(filepath.Join(proc, pid), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(proc, pid, "cgroup"), []byte(cgroup), 0o600))
	}
	synctest.Test(t, func(t *testing.T) {
		c := &fakeGPU{processes: []gpu.Process{{
			PID:    10,
			Device: "A",
			Memory: 3000,
			Busy:   50,
		}, {
			PID:    11,
			Device: "A",
			Memory: 9000,
		}}}
		api := &fakeAPI{}
		ref := growth.PodRef{Namespace: "ns", Name: "p", UID: uid}
		m := &usage.Meter{
			Driver: c,
			Proc:   usage.Proc(proc),
			API:    api,
			Log:    slog.New(slog.DiscardHandler),
			Detector: &usage.ExcessDetector{Config: usage.Config{
				WarnAfter:    20 * time.Second,
				WarnInterval: 1000 * time.Hour,
				EvictAfter:   40 * time.Second,
			}},
			Allocations: func() map[growth.PodUID]bus.Allocation {
				return map[growth.PodUID]bus.Allocation{uid: {
					Pod: ref,
					Containers: []bus.ContainerAllocation{{GPUs: []growth.GPUShare{{
						GPU:    "A",
						Memory: 2048,
					}}}},
				}}
			},
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = m.Run(ctx, 10*time.Second) }()
		api.refuseNext()
		time.Sleep(45 * time.Second)
		synctest.Wait()
		require.Len(t, api.recorded(), 2, "a warning that fails is repeated at the next measurement")
		for _, warning := range api.recorded() {
			require.Contains(t, warning, "GPUMemoryExceeded p: The job uses 3000MiB on GPU A but requested 2GiB")
		}
		api.refuseNext()
		time.Sleep(50 * time.Second)
		synctest.Wait()
		require.Len(t, api.recorded(), 4, "so is an eviction that fails")
		for _, eviction := range api.recorded()[2:] {
			require.Contains(t, eviction, "/api/v1/namespaces/ns/pods/p/eviction")
			require.Contains(t, eviction, "uid:"+uid, "this pod, not another one with its name")
		}

		registry := prometheus.NewRegistry()
		registry.MustRegister(m)
		require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP trellis_deviceplugin_pod_gpu_memory_bytes GPU memory that a pod's processes use.
# TYPE trellis_deviceplugin_pod_gpu_memory_bytes gauge
trellis_deviceplugin_pod_gpu_memory_bytes{gpu="A",namespace="ns",pod="p"} 3.145728e+09
# HELP trellis_deviceplugin_pod_gpu_busy_ratio Fraction of the time in which a pod's processes kept a GPU busy, 0 to 1.
# TYPE trellis_deviceplugin_pod_gpu_busy_ratio gauge
trellis_deviceplugin_pod_gpu_busy_ratio{gpu="A",namespace="ns",pod="p"} 0.5
`), "trellis_deviceplugin_pod_gpu_memory_bytes", "trellis_deviceplugin_pod_gpu_busy_ratio"))

		c.hang.Store(int64(time.Hour))
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		require.Len(t, api.recorded(), 4, "a blocked driver stops nothing else")
		cancel()
		time.Sleep(time.Hour)
	})
}
