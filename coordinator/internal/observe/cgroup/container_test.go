package cgroup

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
)

const pod growth.PodUID = "0b1f3a52-8f1c-4a4e-9d55-0a8c7c1f5d11"

// write writes files below a new root.
func write(t *testing.T, files map[string]string) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, content := range files {
		full := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(full), 0o755))
		require.NoError(t, os.WriteFile(full, []byte(content), 0o600))
	}
	return root
}

// The freezer of cgroup v2 may be in a hierarchy of its own, next to those of version 1.
func TestTree_Container(t *testing.T) {
	const (
		container = "cb88605bc9d532688ef901c39041646d"
		path      = "kubepods/burstable/pod" + string(pod) + "/" + container
	)
	for name, tc := range map[string]struct {
		files map[string]string
		want  string
	}{
		"version 2":       {map[string]string{"cgroup.controllers": "", path + "/cgroup.freeze": ""}, path},
		"version 1":       {map[string]string{"cpu/" + path + "/cpu.shares": ""}, "cpu/" + path},
		"both":            {map[string]string{"cpu/" + path + "/cpu.shares": "", "unified/" + path + "/cgroup.freeze": ""}, "unified/" + path},
		"another runtime": {map[string]string{"cpu/" + path + "/cpu.shares": "", "unified/system.slice/cgroup.freeze": ""}, "cpu/" + path},
	} {
		t.Run(name, func(t *testing.T) {
			root := write(t, tc.files)
			found, err := New(root, t.TempDir()).Container(pod, container)
			require.NoError(t, err)
			require.Equal(t, filepath.Join(root, tc.want), found)
		})
	}
}

// With conmon_cgroup = "pod" CRI-O keeps the process that monitors a container in the pod's cgroup. Its name sorts before that of a
// container whose ID begins with d, e or f, and it runs in the namespaces of the host.
func TestTree_TheMonitorOfAContainerIsNotTheContainer(t *testing.T) {
	const container = "f0b8605bc9d532688ef901c39041646d"
	for name, names := range map[string][2]string{
		"systemd":  {"crio-" + container + ".scope", "crio-conmon-" + container + ".scope"},
		"cgroupfs": {"crio-" + container, "crio-conmon-" + container},
	} {
		t.Run(name, func(t *testing.T) {
			const slice = "kubepods/pod" + string(pod) + "/"
			own, monitor := slice+names[0], slice+names[1]
			root := write(t, map[string]string{
				"cgroup.controllers":            "",
				slice + "cpuset.cpus.effective": "0-7",
				own + "/cgroup.freeze":          "",
				own + "/cgroup.procs":           "34",
				own + "/cpuset.cpus":            "2-3",
				monitor + "/cgroup.freeze":      "",
				monitor + "/cgroup.procs":       "12",
				monitor + "/cpuset.cpus":        "0-6",
				"proc/12/net/dev":               "eth0: 9000 0 0 0 0 0 0 0 9000",
				"proc/34/net/dev":               "eth0: 40 0 0 0 0 0 0 0 2",
			})
			tree := New(root, filepath.Join(root, "proc"))
			found, err := tree.Container(pod, container)
			require.NoError(t, err)
			require.Equal(t, filepath.Join(root, own), found)
			pids, err := tree.Processes(pod, container)
			require.NoError(t, err)
			require.Equal(t, []int{34}, pids)
			cpus, bound := tree.CPUs(pod, container)
			require.True(t, bound)
			require.Equal(t, 2, cpus)
			usage, err := tree.Usage(pod, time.Now())
			require.NoError(t, err)
			require.Equal(t, int64(42), usage.NetworkIO, "of the pod, not of the node")
		})
	}
}

func TestTree_Populated(t *testing.T) {
	const own = "kubepods/burstable/pod" + string(pod) + "/cb88605bc9d532688ef901c39041646d"
	for name, tc := range map[string]struct {
		files map[string]string
		want  bool
	}{
		"a process":                         {map[string]string{own + "/cgroup.procs": "34\n"}, true},
		"one outside of the PID namespace":  {map[string]string{own + "/cgroup.procs": "0\n"}, true},
		"one in a cgroup of the container":  {map[string]string{own + "/cgroup.procs": "", own + "/own/cgroup.procs": "34\n"}, true},
		"none":                              {map[string]string{own + "/cgroup.procs": ""}, false},
		"no cgroup any more, or of another": {map[string]string{"kubepods/cgroup.procs": "34\n"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			tc.files["cgroup.controllers"] = ""
			require.Equal(t, tc.want, New(write(t, tc.files), t.TempDir()).Populated(pod, time.Now()))
		})
	}
}
