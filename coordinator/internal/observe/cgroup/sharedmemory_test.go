package cgroup_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/cgroup"
	"github.com/trellis-gpu/trellis/growth"
)

func TestUsage_SharedMemory(t *testing.T) {
	const pod = "kubepods/burstable/pod0f2b6a5c-8a37-4f0e-9a51-3a2f0c9d7e11/"
	for name, tc := range map[string]struct {
		files map[string]string
		want  growth.MiB
		known bool
	}{
		"version 1 counts the pod's containers under another name": {
			map[string]string{"memory/" + pod + "memory.stat": "cache 41943040\nshmem 0\ntotal_shmem 41943040\n"}, 40, true,
		},
		"version 2": {
			map[string]string{"cgroup.controllers": "cpu memory\n", pod + "memory.stat": "anon 5\nshmem 20971521\n"}, 21, true,
		},
		"a kernel that does not count it": {
			map[string]string{"memory/" + pod + "memory.stat": "cache 41943040\ntotal_cache 41943040\n"}, 0, false,
		},
		"a counter without a limit": {
			map[string]string{
				"cgroup.controllers": "cpu memory\n", pod + "memory.stat": "shmem 18446744073709551615\n",
			}, 1<<43 - 1, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			usage, err := cgroup.New(tree(t, tc.files), "/nowhere").Usage(uid, now)
			require.NoError(t, err)
			require.Equal(t, tc.want, usage.SharedMemory)
			require.Equal(t, tc.known, usage.SharedMemoryKnown)
		})
	}
}
