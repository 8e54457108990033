package node

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWriteMemoryNodes_DividesCoresAndMemory(t *testing.T) {
	root, dir := machine(t), t.TempDir()
	require.NoError(t, writeFile(filepath.Join(root, sysNode, "node0/meminfo"), []byte("Node 0 MemTotal:       8000 kB\nNode 0 MemFree: 1 kB\n")))
	require.NoError(t, WriteCPUTree(root, dir, Cores{0, 1}))
	require.NoError(t, WriteMemoryNodes(dir, Cores{0, 1}, 2))

	tree := filepath.Join(dir, sysNode)
	for file, want := range map[string]string{
		"online":                      "0,1\n",
		"possible":                    "0,1\n",
		"has_memory":                  "0,1\n",
		"node0/cpulist":               "0\n",
		"node1/cpulist":               "1\n",
		"node0/distance":              "10 20\n",
		"node1/distance":              "20 10\n",
		"node0/meminfo":               "Node 0 MemTotal: 4000 kB\n",
		"node1/meminfo":               "Node 1 MemTotal: 4000 kB\n",
		"node1/cpu1/topology/core_id": "1\n", // through the link from one tree into the other
	} {
		text, err := os.ReadFile(filepath.Join(tree, file))
		require.NoError(t, err)
		require.Equal(t, want, string(text), file)
	}
	require.NoFileExists(t, filepath.Join(tree, "node0/cpu1"))
}

func TestPart_OfTheCores(t *testing.T) {
	for name, tc := range map[string]struct {
		cores Cores
		nodes int
		want  []string
	}{
		"one core each":       {Cores{0, 1}, 2, []string{"0", "1"}},
		"two cores each":      {Cores{4, 5, 6, 7}, 2, []string{"4,5", "6,7"}},
		"the last has more":   {Cores{0, 1, 2}, 2, []string{"0", "1,2"}},
		"one NUMA node":       {Cores{0, 1}, 1, []string{"0,1"}},
		"three of four cores": {Cores{0, 1, 2, 3}, 3, []string{"0", "1", "2,3"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for k := range tc.nodes {
				got = append(got, part(tc.cores, k, tc.nodes).String())
			}
			require.Equal(t, tc.want, got)
		})
	}
}
