package cli_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSubmit_RefusesInvalidFlags(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.csv")
	require.NoError(t, os.WriteFile(bad, []byte("arch,depth,batch\n"), 0o644))
	for name, tc := range map[string]struct {
		args      []string
		complaint string
	}{
		"no file":                  {nil, "accepts 1 arg"},
		"a file that is not there": {[]string{"/nonexistent"}, "/nonexistent: no such file"},
		"a file that is none":      {[]string{bad}, bad + ": line 1: the columns are"},
		"no number of jobs":        {[]string{"philly:many"}, "philly:many: a number of jobs must follow"},
		"too many jobs":            {[]string{"philly:501"}, "there must be 1 to 500"},
		"an unknown format":        {[]string{"philly:1", "--format=xml"}, `--format "xml": trellis, torchloader, qore-dl`},
		"an unknown output":        {[]string{"philly:1", "-o", "plain"}, `--output "plain"`},
		"no namespace":             {[]string{"philly:1", "-n", "A"}, `--namespace "A"`},
		"no memory":                {[]string{"philly:1", "--gpu-mem=none"}, `--gpu-mem "none"`},
		"no CPU":                   {[]string{"philly:1", "--cpu=0"}, `--cpu "0"`},
		"no speed":                 {[]string{"philly:1", "--speedup=0"}, "--speedup 0: 0.001 to 1e6"},
		"no kubeconfig":            {[]string{"philly:1", "--kubeconfig=/nonexistent"}, "kubeconfig /nonexistent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", "")
			_, err := run(t, append([]string{"submit"}, tc.args...)...)
			require.ErrorContains(t, err, tc.complaint)
		})
	}
}

func TestSubmit_DryRunNeedsNoCluster(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	out, err := run(t, "submit", "../torchloader/testdata/readme.csv", "--dry-run", "--image=torch:1", "--speedup=10")
	require.NoError(t, err)
	for _, part := range []string{"kind: List", "name: job-1-resnet18-node-2", `gpushare/gpu-count: "2"`, "image: torch:1", "bench.trellis/arrival: 1.25s", "namespace: trellis-workload"} {
		require.Contains(t, out, part)
	}
	out, err = run(t, "submit", "philly:3", "--dry-run", "--image=torch:1", "-o", "table")
	require.NoError(t, err)
	require.Contains(t, out, "NAME")
}

func TestSim_Workload(t *testing.T) {
	for name, tc := range map[string]struct {
		args      []string
		complaint string
	}{
		"no machine":    {[]string{"--workload=philly:3", "--size=0"}, "--size 0: 1 to 1024"},
		"no file":       {[]string{"--workload=/nonexistent"}, "--workload: /nonexistent: no such file"},
		"too much work": {[]string{"--workload=philly:500", "--speedup=0.001"}, "use --speedup"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := run(t, append([]string{"sim"}, tc.args...)...)
			require.ErrorContains(t, err, tc.complaint)
		})
	}
	folder := t.TempDir()
	out, err := run(t, "sim", "--workload=philly:3", "--seeds=2", "--gpus", "--size=2", "--out", folder)
	require.NoError(t, err)
	require.Contains(t, out, "3 listed jobs on 2 GPUs, sizes exact: change against fair sharing, 3 jobs")
	require.FileExists(t, filepath.Join(folder, "sim-workload.json"))
}
