package qoredl_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/qoredl"
)

const header = "batch,flops,params,cpu_normalized,mem_normalized,time_avg_for_100_iteration\n"

func TestReadIterations(t *testing.T) {
	file, err := os.Open("testdata/iterations.csv")
	require.NoError(t, err)
	defer file.Close()
	rows, err := qoredl.ReadIterations(file)
	require.NoError(t, err)
	small := qoredl.Configuration{Batch: 128, FLOPs: 9e6, Params: 1e6}
	large := qoredl.Configuration{Batch: 512, FLOPs: 2.5e13, Params: 6e7}
	require.Equal(t, []qoredl.Iteration{
		{Configuration: small, Allocation: qoredl.Allocation{CPU: 0.5, Memory: 1.25}, Hundred: 40.5},
		{Configuration: small, Allocation: qoredl.Allocation{CPU: 0.5, Memory: 1.25}, Hundred: 41.5},
		{Configuration: small, Allocation: qoredl.Allocation{CPU: 1, Memory: 1.25}, Hundred: 30},
		{Configuration: large, Allocation: qoredl.Allocation{CPU: 1.2, Memory: 2.5}, Hundred: 120.25},
	}, rows)
	require.InDelta(t, 0.3, float64(rows[2].Each()), 1e-12)
}

func TestReadIterations_NamesLineAndColumn(t *testing.T) {
	for name, tc := range map[string]struct{ row, complaint string }{
		"no batch":        {"0,9,9,1,1,1", `line 2, column batch (character 1): "0" is not a whole number from 1`},
		"negative flops":  {"1,-9,9,1,1,1", "line 2, column flops (character 3)"},
		"infinite params": {"1,9,Inf,1,1,1", "line 2, column params (character 5)"},
		"no CPU":          {"1,9,9,0,1,1", "line 2, column cpu_normalized (character 7)"},
		"missing memory":  {"1,9,9,1,,1", "line 2, column mem_normalized (character 9)"},
		"no time":         {"1,9,9,1,1,NaN", "line 2, column time_avg_for_100_iteration (character 11)"},
		"a huge time":     {"1,9,9,1,1,1e300", "line 2, column time_avg_for_100_iteration (character 11)"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := qoredl.ReadIterations(strings.NewReader(header + tc.row + "\n"))
			require.ErrorContains(t, err, tc.complaint)
		})
	}
}

// TestPublishedFiles reads the published files from the folder that TRELLIS_DATA names.
func TestPublishedFiles(t *testing.T) {
	data := os.Getenv("TRELLIS_DATA")
	if data == "" {
		t.Skip("TRELLIS_DATA does not name the folder with Qore-DL's published files")
	}
	file, err := os.Open(filepath.Join(data, "iteration_time.csv"))
	require.NoError(t, err)
	defer file.Close()
	rows, err := qoredl.ReadIterations(file)
	require.NoError(t, err)
	require.Len(t, rows, 5596)
	configurations := map[qoredl.Configuration]bool{}
	for _, row := range rows {
		configurations[row.Configuration] = true
	}
	require.Len(t, configurations, 50)
}

func FuzzReadIterations(f *testing.F) {
	f.Add(header + "128,9000000,1000000,0.5,1.25,40.5\n")
	f.Add(header + "1,9,9,1,1,1e300\n")
	f.Add("\"")
	f.Fuzz(func(t *testing.T, file string) {
		rows, err := qoredl.ReadIterations(strings.NewReader(file))
		if err != nil {
			return
		}
		for _, r := range rows {
			valid := r.Configuration.Batch >= 1 && r.Configuration.FLOPs >= 1 && r.Configuration.Params >= 1 &&
				r.Allocation.CPU > 0 && r.Allocation.Memory > 0 && r.Hundred > 0 && r.Hundred <= 1e7
			if !valid {
				t.Fatalf("accepted an invalid row: %+v", r)
			}
		}
	})
}
