package cgroup_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/cgroup"
	"github.com/trellis-gpu/trellis/growth"
)

func TestUsage_QueuedTimeOfAPod(t *testing.T) {
	const pod = "kubepods/pod" + string(uid) + "/"
	many := map[string]string{}
	threads := ""
	for i := range 200 {
		many[fmt.Sprintf("proc/%d/schedstat", i)] = "1 1000000000 1"
		threads += fmt.Sprintln(i)
	}
	many["cpu/"+pod+"a/tasks"] = threads
	for name, tc := range map[string]struct {
		files map[string]string
		want  growth.Seconds
		known bool
	}{
		"v2, its pressure": {map[string]string{
			"cgroup.controllers":     "",
			pod + "cpu.pressure":     "some avg10=0.00 avg60=0.00 avg300=0.00 total=1500000",
			pod + "a/cgroup.threads": "1",
			"proc/1/schedstat":       "1 9000000000 1",
		}, 1.5, true},
		"v2 without PSI, its threads": {map[string]string{
			"cgroup.controllers":     "",
			pod + "a/cgroup.threads": "1\n2\n",
			pod + "b/cgroup.threads": "3",
			"proc/1/schedstat":       "1 1000000000 1",
			"proc/2/schedstat":       "1 500000000 1",
			"proc/3/schedstat":       "1 2000000000 1",
		}, 3.5, true},
		"v1, its threads in one hierarchy": {map[string]string{
			"cpu/" + pod + "a/tasks":    "1\n2\n",
			"memory/" + pod + "a/tasks": "1\n2\n",
			"proc/1/schedstat":          "1 1000000000 1",
			"proc/2/schedstat":          "1 500000000 1",
		}, 1.5, true},
		"a thread has just ended": {map[string]string{
			"cpu/" + pod + "a/tasks": "1\n2\n",
			"proc/1/schedstat":       "1 1000000000 1",
		}, 1, true},
		"threads outside the PID namespace": {map[string]string{
			"cpu/" + pod + "a/tasks": "0\n0\n",
			"proc/1/schedstat":       "1 1000000000 1",
		}, 0, false},
		"a kernel without schedstat": {map[string]string{
			"cpu/" + pod + "a/tasks": "1\n",
			"proc/1/schedstat":       "",
		}, 0, false},
		"not a number": {map[string]string{
			"cpu/" + pod + "a/tasks": "1\n",
			"proc/1/schedstat":       "1 -5 1",
		}, 0, false},
		"more threads than are read": {many, 0, false},
		"no thread yet": {map[string]string{
			"cpu/" + pod + "a/tasks": "",
		}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			root := tree(t, tc.files)
			got, err := cgroup.New(root, filepath.Join(root, "proc")).Usage(uid, now)
			require.NoError(t, err)
			require.Equal(t, tc.want, got.Queued)
			require.Equal(t, tc.known, got.QueuedKnown)
		})
	}
}

// The kernel's count of a thread disappears with the thread; the pod's queued time never decreases.
func TestUsage_QueuedTimeSurvivesTheEndOfThreads(t *testing.T) {
	root := tree(t, map[string]string{"cpu/kubepods/pod" + string(uid) + "/tasks": ""})
	proc := filepath.Join(root, "proc")
	cgroups := cgroup.New(root, proc)
	for _, reading := range []struct {
		queued map[string]int // seconds, by thread
		want   growth.Seconds
	}{
		{map[string]int{"1": 10, "2": 5}, 15},
		{map[string]int{"1": 12, "2": 5}, 17},
		{map[string]int{"1": 13}, 18},
		{map[string]int{"1": 13, "3": 2}, 20},
		{map[string]int{"1": 1, "3": 2}, 20}, // another thread with the same ID
	} {
		require.NoError(t, os.RemoveAll(proc))
		var threads []string
		for thread, seconds := range reading.queued {
			threads = append(threads, thread)
			require.NoError(t, os.MkdirAll(filepath.Join(proc, thread), 0o755))
			schedstat := fmt.Appendf(nil, "7 %d000000000 7\n", seconds)
			require.NoError(t, os.WriteFile(filepath.Join(proc, thread, "schedstat"), schedstat, 0o600))
		}
		tasks := filepath.Join(root, "cpu/kubepods/pod"+string(uid), "tasks")
		require.NoError(t, os.WriteFile(tasks, []byte(strings.Join(threads, "\n")), 0o600))
		got, err := cgroups.Usage(uid, now)
		require.NoError(t, err)
		require.Equal(t, reading.want, got.Queued)
	}
}
