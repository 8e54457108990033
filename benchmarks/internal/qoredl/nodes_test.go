package qoredl_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/qoredl"
)

const loads = ",machine_cpu_uti,machine_memory_uti,cluster_cpu,cluster_memory,machine,time(s)\n"

func TestReadUtilisation(t *testing.T) {
	rows, err := qoredl.ReadUtilisation(strings.NewReader(loads + "0,0.5,0.25,0.4,0.2,a,120\n1,1.0069375,0,0,0,b,0\n"))
	require.NoError(t, err)
	require.Equal(t, []qoredl.Utilisation{
		{Machine: "a", At: 120, CPU: 0.5, Memory: 0.25},
		{Machine: "b", CPU: 1.0069375},
	}, rows)
}

func TestReadUtilisation_NamesLineAndColumn(t *testing.T) {
	for name, tc := range map[string]struct{ row, complaint string }{
		"above 1":         {"0,1.2,0,0,0,a,1", "line 2, column machine_cpu_uti (character 3)"},
		"not a number":    {"0,0,NaN,0,0,a,1", "line 2, column machine_memory_uti (character 5)"},
		"per cent":        {"0,0,0,50,0,a,1", "line 2, column cluster_cpu (character 7)"},
		"no machine":      {"0,0,0,0,0,,1", "line 2, column machine (character 11)"},
		"before the file": {"0,0,0,0,0,a,-1", "line 2, column time(s) (character 13)"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := qoredl.ReadUtilisation(strings.NewReader(loads + tc.row + "\n"))
			require.ErrorContains(t, err, tc.complaint)
		})
	}
}

// TestPublishedLoads reads the published file from the folder that TRELLIS_DATA names.
func TestPublishedLoads(t *testing.T) {
	data := os.Getenv("TRELLIS_DATA")
	if data == "" {
		t.Skip("TRELLIS_DATA does not name the folder with Qore-DL's published files")
	}
	file, err := os.Open(filepath.Join(data, "node_resource_trace.csv"))
	require.NoError(t, err)
	defer file.Close()
	rows, err := qoredl.ReadUtilisation(file)
	require.NoError(t, err)
	require.Len(t, rows, 15_267)
	machines := map[string]bool{}
	for _, row := range rows {
		machines[row.Machine] = true
	}
	require.Len(t, machines, 7)
}

func FuzzReadUtilisation(f *testing.F) {
	f.Add(loads + "0,0.5,0.25,0.4,0.2,a,120\n")
	f.Add("\"")
	f.Fuzz(func(t *testing.T, file string) {
		rows, err := qoredl.ReadUtilisation(strings.NewReader(file))
		if err != nil {
			return
		}
		for _, r := range rows {
			if r.Machine == "" || !(r.CPU >= 0 && r.CPU <= 1.05 && r.Memory >= 0 && r.Memory <= 1.05 && r.At >= 0) {
				t.Fatalf("accepted an invalid row: %+v", r)
			}
		}
	})
}
