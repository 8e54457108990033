package cgroup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse_FindsHierarchies(t *testing.T) {
	tests := map[string]struct {
		mountinfo string
		want      []Hierarchy
	}{
		"v1 and an empty v2": {
			"32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n" +
				"40 31 0:37 / /sys/fs/cgroup/systemd rw shared:9 master:1 - cgroup cgroup rw,xattr,name=systemd\n" +
				"41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate\n",
			[]Hierarchy{
				{Mount: "/sys/fs/cgroup/cpu,cpuacct", Controllers: []string{"cpu", "cpuacct"}},
				{Mount: "/sys/fs/cgroup/systemd", Controllers: []string{"name=systemd"}},
				{Mount: "/sys/fs/cgroup/unified", V2: true},
			},
		},
		"v2": {
			"27 1 254:0 / / rw - ext4 /dev/vda rw\n31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
			[]Hierarchy{{Mount: "/sys/fs/cgroup", V2: true}},
		},
		"mounted twice, and a part of one": {
			"1 1 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n2 1 0:28 / /mnt/again rw - cgroup2 cgroup2 rw\n" +
				"3 1 0:30 /docker/x /mnt/part rw - cgroup cgroup rw,cpu\n",
			[]Hierarchy{{Mount: "/sys/fs/cgroup", V2: true}},
		},
		"lines that are none": {"\n1 2 3\n1 2 3 4 5 - \n", nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			found, err := parse(strings.NewReader(tc.mountinfo))
			require.NoError(t, err)
			require.Equal(t, tc.want, found)
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu")
	f.Add("- - -")
	f.Fuzz(func(t *testing.T, text string) {
		found, err := parse(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, h := range found {
			require.NotEmpty(t, h.Mount)
		}
	})
}

func TestMissing_NamesControllers(t *testing.T) {
	v1 := []Hierarchy{{Mount: "/a", Controllers: []string{"cpu", "cpuset"}}, {Mount: "/b", Controllers: []string{"memory"}}}
	require.Equal(t, []string{"pids"}, Missing(v1))

	v2 := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(v2, "cgroup.controllers"), []byte("cpuset cpu io memory pids\n"), 0o644))
	require.Empty(t, Missing([]Hierarchy{{Mount: v2, V2: true}}))
}

// A folder stands for a hierarchy: what must be written where does not depend on the kernel.
func TestCreate_CopiesAV1CpusetFromItsParent(t *testing.T) {
	mount := t.TempDir()
	write := func(path, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(mount, path), []byte(text), 0o644))
	}
	read := func(path string) string {
		text, err := os.ReadFile(filepath.Join(mount, path))
		require.NoError(t, err)
		return string(text)
	}
	write("cpuset.cpus", "0-3\n")
	write("cpuset.mems", "0\n")
	b := Branch{name: "trellis-x", hierarchies: []Hierarchy{{Mount: mount, Controllers: []string{"cpuset"}}}}

	require.NoError(t, b.Create("system", ""))
	require.Equal(t, "0-3", read("trellis-x/cpuset.cpus"))
	require.Equal(t, "0-3", read("trellis-x/system/cpuset.cpus"))

	require.NoError(t, b.Create("node-1", "2"))
	require.Equal(t, "2", read("trellis-x/node-1/cpuset.cpus"))
	require.Equal(t, "0", read("trellis-x/node-1/cpuset.mems"))
	require.Equal(t, "0-3", read("trellis-x/cpuset.cpus"), "only the last level is tied")
	require.Equal(t, "/trellis-x/node-1", b.Path("node-1"))
}

func TestCreate_EnablesV2ControllersForChildren(t *testing.T) {
	mount := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(mount, "cgroup.controllers"), []byte("cpuset\n"), 0o644))
	b := Branch{name: "trellis-x", hierarchies: []Hierarchy{{Mount: mount, V2: true}}}
	require.NoError(t, b.Create("node-1", "1"))

	handed, err := os.ReadFile(filepath.Join(mount, "cgroup.subtree_control"))
	require.NoError(t, err)
	require.Equal(t, "+cpuset", string(handed))
	cpus, err := os.ReadFile(filepath.Join(mount, "trellis-x/node-1/cpuset.cpus"))
	require.NoError(t, err)
	require.Equal(t, "1", string(cpus))
}

func TestPIDs_UniteAllGroups(t *testing.T) {
	mount := t.TempDir()
	for group, pids := range map[string]string{"trellis-x": "", "trellis-x/a": "7\n9\n", "trellis-x/a/b": "9\n12\n", "other": "5\n"} {
		dir := filepath.Join(mount, group)
		require.NoError(t, os.MkdirAll(dir, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(pids), 0o644))
	}
	b := Branch{name: "trellis-x", hierarchies: []Hierarchy{{Mount: mount, V2: true}}}
	require.Equal(t, []int{7, 9, 12}, b.PIDs())
	groups := b.Groups()
	require.Equal(t, filepath.Join(mount, "trellis-x"), groups[len(groups)-1], "parents come after children")
}
