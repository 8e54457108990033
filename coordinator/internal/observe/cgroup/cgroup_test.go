package cgroup_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/cgroup"
	"github.com/trellis-gpu/trellis/growth"
)

const uid = growth.PodUID("0f2b6a5c-8a37-4f0e-9a51-3a2f0c9d7e11")

var now = time.Unix(1_700_000_000, 0)

func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	return root
}

func TestUsage_ReadsBothVersionsAndDrivers(t *testing.T) {
	const (
		plain   = "kubepods/burstable/pod0f2b6a5c-8a37-4f0e-9a51-3a2f0c9d7e11/"
		nested  = "trellis-x/node-1/" + plain
		systemd = "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0f2b6a5c_8a37_4f0e_9a51_3a2f0c9d7e11.slice/"
	)
	v1 := func(pod string) map[string]string {
		return map[string]string{
			"cpu,cpuacct/" + pod + "cpuacct.usage":       "2500000000\n",
			"cpu,cpuacct/" + pod + "cpu.shares":          "512\n",
			"memory/" + pod + "memory.usage_in_bytes":    "20971520\n",
			"memory/" + pod + "memory.stat":              "cache 1\ninactive_file 1\ntotal_inactive_file 10485760\n",
			"unified/" + pod + "cpu.stat":                "usage_usec 1\n",
			"systemd/" + pod + "cgroup.procs":            "1\n",
			"cpu,cpuacct/kubepods/besteffort/cpu.shares": "2\n",
		}
	}
	v2 := func(pod string) map[string]string {
		return map[string]string{
			"cgroup.controllers":   "cpu memory\n",
			pod + "cpu.stat":       "usage_usec 2500000\nuser_usec 1\n",
			pod + "cpu.weight":     "20\n",
			pod + "memory.current": "20971520\n",
			pod + "memory.stat":    "anon 1\ninactive_file 10485760\n",
			pod + "abc/cpu.weight": "7\n",
		}
	}
	want1 := cgroup.Usage{CPU: 2.5, CPUKnown: true, Memory: 10, Weight: 512, Version: 1}
	want2 := cgroup.Usage{CPU: 2.5, CPUKnown: true, Memory: 10, Weight: 20, Version: 2}
	for name, tc := range map[string]struct {
		files map[string]string
		want  cgroup.Usage
	}{
		"v1, cgroupfs":              {v1(plain), want1},
		"v1, a node in a container": {v1(nested), want1},
		"v1, systemd":               {v1(systemd), want1},
		"v2, cgroupfs":              {v2(plain), want2},
		"v2, a node in a container": {v2(nested), want2},
		"v2, systemd":               {v2(systemd), want2},
		"v1, only the CPU controllers": {
			map[string]string{
				"cpu/" + plain + "cpu.shares":        "2",
				"cpuacct/" + plain + "cpuacct.usage": "2500000000",
			},
			cgroup.Usage{CPU: 2.5, CPUKnown: true, Weight: 2, Version: 1},
		},
		"invalid numbers are left out": {
			map[string]string{
				"cgroup.controllers": "",
				plain + "cpu.stat":   "usage_usec x\n",
				plain + "cpu.weight": "max",
			},
			cgroup.Usage{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := cgroup.New(tree(t, tc.files), "/nowhere").Usage(uid, now)
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
}

func TestUsage_FollowsPodsThatComeAndGo(t *testing.T) {
	root := tree(t, map[string]string{"cgroup.controllers": ""})
	cgroups := cgroup.New(root, "/nowhere")
	_, err := cgroups.Usage(uid, now)
	require.ErrorIs(t, err, cgroup.ErrNotFound)

	pod := filepath.Join(root, "kubepods", "pod"+string(uid))
	require.NoError(t, os.MkdirAll(pod, 0o755))
	_, err = cgroups.Usage(uid, now.Add(time.Second))
	require.ErrorIs(t, err, cgroup.ErrNotFound, "the tree is not searched on each call")
	_, err = cgroups.Usage(uid, now.Add(3*time.Second))
	require.NoError(t, err)

	require.NoError(t, os.Remove(pod))
	_, err = cgroups.Usage(uid, now.Add(6*time.Second))
	require.ErrorIs(t, err, cgroup.ErrNotFound)
	_, err = cgroup.New(filepath.Join(root, "nowhere"), "/nowhere").Usage(uid, now)
	require.ErrorIs(t, err, cgroup.ErrNotFound)
}

func TestUsage_CompletesAPodWhoseCgroupsWereBeingCreated(t *testing.T) {
	pod := "kubepods/pod" + string(uid)
	root := tree(t, map[string]string{"cpu/x": "", "memory/" + pod + "/memory.usage_in_bytes": "1048576"})
	cgroups := cgroup.New(root, "/nowhere")
	partial, err := cgroups.Usage(uid, now)
	require.NoError(t, err)
	require.Zero(t, partial.Weight)

	require.NoError(t, os.MkdirAll(filepath.Join(root, "cpu", pod), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "cpu", pod, "cpu.shares"), []byte("102"), 0o600))
	complete, err := cgroups.Usage(uid, now.Add(3*time.Second))
	require.NoError(t, err)
	require.Equal(t, cgroup.Usage{Memory: 1, Weight: 102, Version: 1}, complete)
}

func TestProcesses_ListsThoseOfTheContainer(t *testing.T) {
	const (
		pod       = "kubepods/burstable/pod0f2b6a5c-8a37-4f0e-9a51-3a2f0c9d7e11/"
		container = "5f0cdd0a3f1be2d8a7a1"
	)
	for name, files := range map[string]map[string]string{
		"v1, cgroupfs": {
			"memory/" + pod + container + "/cgroup.procs": "12\n34\n",
			"cpu/" + pod + "another-one/cgroup.procs":     "9\n",
		},
		"v2, systemd": {
			"cgroup.controllers": "",
			pod + "cri-containerd-" + container + ".scope/cgroup.procs": "12\n34\n",
		},
		"a container with cgroups of its own": {
			"cgroup.controllers":                         "",
			pod + container + "/cgroup.procs":            "",
			pod + container + "/init.scope/cgroup.procs": "12\n34\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			cgroups := cgroup.New(tree(t, files), "/nowhere")
			got, err := cgroups.Processes(uid, container)
			require.NoError(t, err)
			require.Equal(t, []int{12, 34}, got)
			_, err = cgroups.Processes(uid, "ffffffffffffffff")
			require.ErrorIs(t, err, cgroup.ErrNotFound)
			_, err = cgroups.Processes(uid, "")
			require.ErrorIs(t, err, cgroup.ErrNotFound)
		})
	}
}

// testdata has complete trees of both cgroup versions, with a pod of two containers. FlowCon uses four of the
// resources.
func TestUsage_ReadsACompleteTree(t *testing.T) {
	for name, want := range map[string]cgroup.Usage{
		"v1": {
			CPU:       812.5,
			CPUKnown:  true,
			Memory:    3072,
			Weight:    512,
			Version:   1,
			BlockIO:   3<<20 + 1<<12,
			NetworkIO: 7_000_003,
		},
		"v2": {
			CPU:         812.5,
			CPUKnown:    true,
			Memory:      3072,
			Weight:      59,
			Version:     2,
			BlockIO:     3<<20 + 1<<12,
			NetworkIO:   7_000_003,
			Stalled:     cgroup.Stalled{CPU: 41.25, Memory: 0.5, IO: 2},
			Queued:      41.25,
			QueuedKnown: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := cgroup.New("testdata/"+name+"/cgroup", "testdata/"+name+"/proc").Usage(uid, now)
			require.NoError(t, err)
			require.Equal(t, want, got)
		})
	}
	want := cgroup.Stalled{CPU: 2407.266441, Memory: 0.25, IO: 12}
	require.Equal(t, want, cgroup.New("", "testdata/v2/proc").Node())
	require.Zero(t, cgroup.New("", "testdata/v1/proc").Node(), "a kernel without PSI")
}

func FuzzUsage(f *testing.F) {
	f.Add(
		"some avg10=0.00 avg60=0.00 avg300=0.00 total=5",
		"8:0 rbytes=1 wbytes=9223372036854775807",
		"eth0: 1 2 3 4 5 6 7 8 9",
		"7",
		"1 2 3",
	)
	f.Add("total=", "8:0 Read 18446744073709551615", ":::", "../7", "1 18446744073709551615 1")
	f.Fuzz(func(t *testing.T, pressure, io, dev, threads, schedstat string) {
		const pod = "kubepods/pod" + string(uid) + "/"
		root := tree(t, map[string]string{
			"cgroup.controllers":   "",
			pod + "cgroup.procs":   "7",
			pod + "cpu.pressure":   pressure,
			pod + "io.stat":        io,
			pod + "cgroup.threads": threads,
			"proc/7/net/dev":       dev,
			"proc/7/schedstat":     schedstat,
			pod + "blkio.throttle.io_service_bytes_recursive": io,
		})
		got, err := cgroup.New(root, filepath.Join(root, "proc")).Usage(uid, now)
		if err != nil || got.BlockIO < 0 || got.NetworkIO < 0 || got.Stalled.CPU < 0 || got.Queued < 0 {
			t.Fatalf("%+v, %v", got, err)
		}
	})
}

// A file that does not exist is looked for again after a minute: a controller can be enabled later.
func TestUsage_FindsAFileThatAppearsLater(t *testing.T) {
	pod := "kubepods/pod" + string(uid)
	root := tree(t, map[string]string{"cgroup.controllers": "", pod + "/cpu.weight": "20"})
	cgroups := cgroup.New(root, "/nowhere")
	before, err := cgroups.Usage(uid, now)
	require.NoError(t, err)
	require.Equal(t, cgroup.Usage{Weight: 20, Version: 2}, before)

	require.NoError(t, os.WriteFile(filepath.Join(root, pod, "memory.current"), []byte("1048576"), 0o600))
	later, err := cgroups.Usage(uid, now.Add(time.Minute))
	require.NoError(t, err)
	require.Equal(t, cgroup.Usage{Memory: 1, Weight: 20, Version: 2}, later)
	back, err := cgroups.Usage(uid, now)
	require.NoError(t, err)
	require.Equal(t, later, back, "the clock has been set back")
}
