package node

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCoresOf_SpreadsNodes(t *testing.T) {
	tests := map[string]struct {
		nodes, perNode, machine int
		want                    []string
	}{
		"a core each":             {2, 1, 2, []string{"0", "1"}},
		"two cores each":          {2, 2, 4, []string{"0,1", "2,3"}},
		"more cores than needed":  {1, 1, 8, []string{"0"}},
		"more nodes than cores":   {4, 1, 2, []string{"0", "1", "0", "1"}},
		"wider than half of them": {2, 2, 3, []string{"0,1", "2,0"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for i := range tc.nodes {
				got = append(got, CoresOf(i, tc.perNode, tc.machine).String())
			}
			require.Equal(t, tc.want, got)
		})
	}
}

func TestParseCores_RoundTrip(t *testing.T) {
	cores, err := ParseCores("2,0")
	require.NoError(t, err)
	require.Equal(t, Cores{2, 0}, cores)
	for _, bad := range []string{"", "0-1", "-1", "0,,1", "a"} {
		_, err := ParseCores(bad)
		require.ErrorContains(t, err, "numbers and commas", bad)
	}
}

// machine lays out what a machine of two cores and one memory node shows.
func machine(t *testing.T) string {
	root := t.TempDir()
	for path, text := range map[string]string{
		"proc/cpuinfo":                                       "processor\t: 0\nmodel name\t: A\n\nprocessor\t: 1\nmodel name\t: B\n\n",
		"sys/devices/system/cpu/online":                      "0-1\n",
		"sys/devices/system/cpu/possible":                    "0-1\n",
		"sys/devices/system/cpu/present":                     "0-1\n",
		"sys/devices/system/cpu/cpufreq/policy0/affected":    "0 1\n",
		"sys/devices/system/cpu/cpu0/topology/core_id":       "0\n",
		"sys/devices/system/cpu/cpu1/topology/core_id":       "1\n",
		"sys/devices/system/cpu/cpu1/cache/index0/size":      "32K\n",
		"sys/devices/system/node/node0/meminfo":              "Node 0 MemTotal: 1 kB\n",
		"sys/devices/system/node/online":                     "0\n",
		"sys/devices/system/cpu/vulnerabilities/spectre_two": "none\n",
	} {
		require.NoError(t, writeFile(filepath.Join(root, path), []byte(text)))
	}
	for link, target := range map[string]string{
		"sys/devices/system/node/node0/cpu0":  "../../cpu/cpu0",
		"sys/devices/system/node/node0/cpu1":  "../../cpu/cpu1",
		"sys/devices/system/cpu/cpu1/node0":   "../../node/node0",
		"sys/devices/system/cpu/cpu1/driver":  "../../../../bus/cpu/drivers/processor",
		"sys/devices/system/node/node0/power": "/nowhere",
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(root, link)))
	}
	return root
}

func TestWriteCPUTree_ShowsOnlyTheNodesCores(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, WriteCPUTree(machine(t), dir, Cores{1}))

	var got []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			got = append(got, strings.TrimPrefix(path, dir+"/"))
		}
		return err
	}))
	require.Equal(t, []string{
		"proc/cpuinfo",
		"sys/devices/system/cpu/cpu1/cache/index0/size",
		"sys/devices/system/cpu/cpu1/node0",
		"sys/devices/system/cpu/cpu1/topology/core_id",
		"sys/devices/system/cpu/cpufreq/policy0/affected",
		"sys/devices/system/cpu/online",
		"sys/devices/system/cpu/possible",
		"sys/devices/system/cpu/present",
		"sys/devices/system/cpu/vulnerabilities/spectre_two",
		"sys/devices/system/node/node0/cpu1",
		"sys/devices/system/node/node0/meminfo",
		"sys/devices/system/node/online",
	}, got)
	for file, want := range map[string]string{
		"proc/cpuinfo":                  "processor\t: 1\nmodel name\t: B\n\n",
		"sys/devices/system/cpu/online": "1\n",
		// through the link from one tree into the other
		"sys/devices/system/node/node0/cpu1/topology/core_id": "1\n",
	} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		require.NoError(t, err)
		require.Equal(t, want, string(text))
	}
}

func TestWriteCPUTree_WithoutMemoryNodes(t *testing.T) {
	root := machine(t)
	require.NoError(t, os.RemoveAll(filepath.Join(root, sysNode)))
	dir := t.TempDir()
	require.NoError(t, WriteCPUTree(root, dir, Cores{0}))
	require.NoDirExists(t, filepath.Join(dir, sysNode))
}

func FuzzFilterCPUInfo(f *testing.F) {
	f.Add([]byte("processor\t: 0\nx\t: y\n\nprocessor\t: 1\n\nHardware\t: board\n"), 1)
	f.Add([]byte("\n\n\n"), 0)
	f.Add([]byte("processor:0\n\n 0"), 31)
	f.Fuzz(func(t *testing.T, info []byte, core int) {
		for paragraph := range strings.SplitSeq(string(filterCPUInfo(info, Cores{core})), "\n\n") {
			if n, ok := processor([]byte(paragraph)); ok {
				require.Equal(t, core, n, "a processor that the node does not have")
			}
		}
	})
}
