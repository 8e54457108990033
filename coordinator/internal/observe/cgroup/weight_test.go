package cgroup_test

import (
	"encoding/csv"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/cgroup"
	"github.com/trellis-gpu/trellis/growth"
)

// weights reads testdata/weights.csv: a CPU request and the weights that kubelet and container runtimes write for it.
func weights(t *testing.T) [][4]int64 {
	t.Helper()
	file, err := os.Open("testdata/weights.csv")
	require.NoError(t, err)
	defer file.Close()
	lines, err := csv.NewReader(file).ReadAll()
	require.NoError(t, err)
	var rows [][4]int64
	for _, line := range lines[1:] {
		var row [4]int64
		for i, field := range line {
			row[i], err = strconv.ParseInt(field, 10, 64)
			require.NoError(t, err)
		}
		rows = append(rows, row)
	}
	require.NotEmpty(t, rows)
	return rows
}

func TestWeights_FollowTheThreeFormulas(t *testing.T) {
	require.Equal(t, int64(262144), cgroup.SharesOf(1<<30))
	require.Equal(t, int64(10000), cgroup.WeightOf(1<<30))
	require.Equal(t, int64(10000), cgroup.LogWeightOf(1<<30))
	for _, row := range weights(t) {
		request := growth.MilliCPU(row[0])
		require.Equal(t, row[1], cgroup.SharesOf(request), "cpu.shares of %dm", row[0])
		require.Equal(t, row[2], cgroup.WeightOf(request), "the linear cpu.weight of %dm", row[0])
		require.Equal(t, row[3], cgroup.LogWeightOf(request), "the logarithmic cpu.weight of %dm", row[0])
	}
}

// Under each formula, a resize shows once it has been applied and not before, if it changes the weight at all.
func TestApplied_RecognizesAChangeUnderEachFormula(t *testing.T) {
	rows := weights(t)
	for column, version := range map[int]int{1: 1, 2: 2, 3: 2} {
		for _, from := range rows {
			for _, to := range rows {
				before, after := from[column], to[column]
				applied := func(now int64) bool {
					return cgroup.Applied(version, before, now, growth.MilliCPU(from[0]), growth.MilliCPU(to[0]))
				}
				require.True(t, applied(after), "%v → %v", from, to)
				ambiguous := version == 2 && from[2] == from[3] // both formulas explain the weight before
				if before != after && !ambiguous {
					require.False(t, applied(before), "%v → %v by column %d", from, to, column)
				}
			}
		}
	}
}

func TestApplied(t *testing.T) {
	for name, tc := range map[string]struct {
		version     int
		before, now int64
		from, to    growth.MilliCPU
		want        bool
	}{
		"v1, the new shares":                     {1, 512, 768, 500, 750, true},
		"v1, other shares":                       {1, 512, 700, 500, 750, false},
		"v1, unknown before":                     {1, 0, 768, 500, 750, true},
		"linear":                                 {2, 20, 30, 500, 750, true},
		"linear, not yet":                        {2, 20, 20, 500, 750, false},
		"linear, the result of an earlier one":   {2, 20, 24, 500, 750, false},
		"linear, a change below one step":        {2, 20, 20, 500, 505, true},
		"logarithmic":                            {2, 59, 80, 500, 750, true},
		"logarithmic, not yet":                   {2, 59, 59, 500, 750, false},
		"a weight that is right by both":         {2, 1, 1, 1, 2, true},
		"linear before, logarithmic by accident": {2, 20, 20, 500, 125, false},
		"an unknown formula":                     {2, 50, 75, 500, 750, true},
		"an unknown formula, not yet":            {2, 50, 50, 500, 750, false},
		"unknown before":                         {2, 0, 50, 500, 750, true},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, cgroup.Applied(tc.version, tc.before, tc.now, tc.from, tc.to))
		})
	}
}

// A container has cores of its own if kubelet's CPU manager has bound it to fewer CPUs than its pod may use.
func TestCPUs_AreThoseOfABoundContainer(t *testing.T) {
	const pod, id = "kubepods/pod" + string(uid) + "/", "5f0cdd0a3f1be2d8a7a1"
	v1 := func(ofPod, own string) map[string]string {
		return map[string]string{
			"cpu,cpuacct/" + pod + id + "/cpu.shares": "1024",
			"cpuset/" + pod + "cpuset.cpus":           ofPod,
			"cpuset/" + pod + id + "/cpuset.cpus":     own,
		}
	}
	v2 := func(ofPod, own string) map[string]string {
		return map[string]string{
			"cgroup.controllers":                                "cpu cpuset",
			pod + "cpuset.cpus":                                 "",
			pod + "cpuset.cpus.effective":                       ofPod,
			pod + "cri-containerd-" + id + ".scope/cpuset.cpus": own,
		}
	}
	for name, tc := range map[string]struct {
		files map[string]string
		want  int
		bound bool
	}{
		"v1, bound":                      {v1("0-7", "2-3,6"), 3, true},
		"v1, all CPUs":                   {v1("0-7", "0-7"), 0, false},
		"v1, a node with one CPU":        {v1("1", "1"), 0, false},
		"v2, bound":                      {v2("0-7", "5"), 1, true},
		"v2, the shared pool":            {v2("0-7", "0-4"), 5, true},
		"v2, not bound":                  {v2("0-7", ""), 0, false},
		"v2, an invalid list":            {v2("0-7", "3-1"), 0, false},
		"v2, a list of something else":   {v2("0-7", "many"), 0, false},
		"no controller for sets of CPUs": {map[string]string{"cgroup.controllers": "cpu", pod + id + "/cpu.weight": "1"}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, bound := cgroup.New(tree(t, tc.files), "/nowhere").CPUs(uid, id)
			require.Equal(t, tc.bound, bound)
			if bound {
				require.Equal(t, tc.want, got)
			}
		})
	}
}
