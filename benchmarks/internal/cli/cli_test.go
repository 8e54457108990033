package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/cli"
	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
)

// run calls the command without a cluster and without bin/local.
func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	t.Setenv("PATH", "")
	command := cli.New("dev")
	var out bytes.Buffer
	command.SetOut(&out)
	command.SetErr(&out)
	command.SetArgs(args)
	err := command.ExecuteContext(t.Context())
	return out.String(), err
}

func TestDemo_RefusesInvalidFlags(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	bad := filepath.Join(t.TempDir(), "bad.csv")
	require.NoError(t, os.WriteFile(bad, []byte("name,kind\n"), 0o644))
	for name, tc := range map[string]struct {
		args      []string
		complaint string
	}{
		"no nodes":                          {[]string{"--nodes=0"}, "--nodes 0: 1 to 64"},
		"no time":                           {[]string{"--timeout=0s"}, "--timeout"},
		"an unknown output":                 {[]string{"-o", "xml"}, `--output "xml"`},
		"no policy":                         {[]string{"--policy="}, "--policy is empty"},
		"a comparison on a foreign cluster": {[]string{"--kubeconfig=x", "--compare"}, "--compare reinstalls Trellis"},
		"chaos on a foreign cluster":        {[]string{"--kubeconfig=x", "--chaos"}, "--chaos kills processes of this machine"},
		"chaos in a comparison":             {[]string{"--chaos", "--compare"}, "--chaos and --compare"},
		"no round":                          {[]string{"--repeats=0"}, "--repeats 0: 1 to 100"},
		"a workload that is not there":      {[]string{"--workload=/nonexistent"}, "--workload"},
		"a workload that is none":           {[]string{"--workload", bad}, bad + ": line 1: the columns are"},
		"no bin/local":                      {nil, "make build"},
		"an argument":                       {[]string{"now"}, "unknown command"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := run(t, append([]string{"demo"}, tc.args...)...)
			require.ErrorContains(t, err, tc.complaint)
		})
	}
}

func TestStorm_RefusesInvalidFlags(t *testing.T) {
	for name, tc := range map[string]struct {
		args      []string
		complaint string
	}{
		"no round":          {[]string{"--rounds=0"}, "--rounds 0: 1 to 1000"},
		"too few pods":      {[]string{"--pods=7"}, "--pods 7: 8 to 999"},
		"no nodes":          {[]string{"--nodes=0"}, "--nodes 0: 1 to 16"},
		"an unknown output": {[]string{"-o", "xml"}, `--output "xml"`},
		"no bin/local":      {[]string{"--quick"}, "make build"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := run(t, append([]string{"storm"}, tc.args...)...)
			require.ErrorContains(t, err, tc.complaint)
		})
	}
}

func TestPredict_RefusesInvalidFlags(t *testing.T) {
	empty := t.TempDir()
	invalid := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(invalid, "iteration_time.csv"), []byte("batch\n"), 0o644))
	for name, tc := range map[string]struct {
		args      []string
		complaint string
	}{
		"no data":               {nil, "--data is missing: give the folder with iteration_time.csv of Qore-DL, or set TRELLIS_DATA"},
		"a folder without data": {[]string{"--data", empty}, "--data must be the folder with iteration_time.csv"},
		"an invalid file":       {[]string{"--data", invalid}, filepath.Join(invalid, "iteration_time.csv") + ": "},
		"no seed":               {[]string{"--seeds=0"}, "--seeds 0: 1 to 1000"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TRELLIS_DATA", "")
			_, err := run(t, append([]string{"predict"}, tc.args...)...)
			require.ErrorContains(t, err, tc.complaint)
		})
	}
}

func TestTune_RefusesInvalidFlags(t *testing.T) {
	_, err := run(t, "tune", "--seeds=0")
	require.ErrorContains(t, err, "--seeds 0: 1 to 10000")
	_, err = run(t, "tune", "--phases=imagined")
	require.ErrorContains(t, err, `--phases "imagined"`)
}

func TestMemory(t *testing.T) {
	const python = "/usr/bin/python3"
	folder := t.TempDir()
	_, err := run(t, "memory", "--recorded", filepath.Join(folder, "none.csv"), "--out", folder)
	require.ErrorContains(t, err, "record it by --measure")
	invalid := filepath.Join(folder, "invalid.csv")
	require.NoError(t, os.WriteFile(invalid, []byte("kind\n"), 0o644))
	_, err = run(t, "memory", "--recorded", invalid, "--out", folder)
	require.ErrorContains(t, err, invalid+": line 1: the columns are")
	if testing.Short() || exec.CommandContext(t.Context(), python, "-c", "import torch, sklearn").Run() != nil {
		t.Skip("recording jobs needs PyTorch, and takes half a minute")
	}
	out, err := run(t, "memory", "--quick", "--out", folder)
	require.NoError(t, err, out)
	require.Contains(t, out, "own observations: in 80 % interval")
	require.Contains(t, out, "batch size, operations, parameters: mean error")
	text, err := os.ReadFile(filepath.Join(folder, "memory.json"))
	require.NoError(t, err)
	var s results.Summary
	require.NoError(t, json.Unmarshal(text, &s))
	require.True(t, s.Quick)
	require.FileExists(t, filepath.Join(folder, "memory.csv"))
}

func TestTune_Quick(t *testing.T) {
	const python = "/usr/bin/python3"
	phases := "simulated"
	if exec.CommandContext(t.Context(), python, "-c", "import torch, sklearn").Run() == nil && !testing.Short() {
		phases = "simulated,real,gradients"
	}
	folder := t.TempDir()
	out, err := run(t, "tune", "--quick", "--phases="+phases, "--out", folder)
	require.NoError(t, err, out)
	require.Contains(t, out, "simulated, rising: of the best size")
	text, err := os.ReadFile(filepath.Join(folder, "tune.json"))
	require.NoError(t, err)
	var s results.Summary
	require.NoError(t, json.Unmarshal(text, &s))
	require.True(t, s.Quick)
	require.Len(t, s.Phases, 1+strings.Count(phases, ","))
}

func TestSpecon_RefusesInvalidFlags(t *testing.T) {
	_, err := run(t, "specon", "--seeds=1")
	require.ErrorContains(t, err, "--seeds 1: 2 to 100000")
}

func TestSpecon_QuickScale(t *testing.T) {
	folder := t.TempDir()
	out, err := run(t, "specon", "--scale", "--quick", "--strict", "--out", folder)
	require.NoError(t, err, out)
	text, err := os.ReadFile(filepath.Join(folder, "scale.json"))
	require.NoError(t, err)
	var s results.Summary
	require.NoError(t, json.Unmarshal(text, &s))
	require.True(t, s.Quick)
	require.Equal(t, "50 with 8 GPUs each", s.Settings["nodes"])
	require.Equal(t, `make bench-scale ARGS="--quick --strict"`, s.Command)
}

func TestSpeconReal_RefusesInvalidFlags(t *testing.T) {
	_, err := run(t, "specon-real", "--nodes=1")
	require.ErrorContains(t, err, "--nodes from 2 to 8")
	_, err = run(t, "specon-real", "--runs=3")
	require.ErrorContains(t, err, "--runs is from 20 to 100000")
	_, err = run(t, "specon-real")
	require.ErrorContains(t, err, "make build")
}

func TestSpeconReal_DryRun(t *testing.T) {
	out, err := run(t, "specon-real", "--dry-run", "--quick", "--runs=20", "--nodes=2")
	require.NoError(t, err, out)
	require.Contains(t, out, "2 nodes, each with ")
	require.Contains(t, out, "alone: job-1, ")
	require.Contains(t, out, "trellis: job-6, ")
	require.Contains(t, out, "simulated with the usual lengths, if switches between jobs and starts of pods cost nothing: mean completion ")
}

func TestSpeconReal_Again(t *testing.T) {
	folder := t.TempDir()
	published := filepath.Join("..", "..", "measured", "specon-real.json")
	out, err := run(t, "specon-real", "--again", published, "--runs=20", "--out", folder)
	require.NoError(t, err, out)
	text, err := os.ReadFile(filepath.Join(folder, "specon-real.json"))
	require.NoError(t, err)
	var s results.Summary
	require.NoError(t, json.Unmarshal(text, &s))
	require.Equal(t, "20", s.Settings["simulated runs"])
	require.NotEmpty(t, s.Settings["simulated at"])
	require.Contains(t, out, "mean completion, default: real")
	_, err = run(t, "specon-real", "--again", filepath.Join("..", "..", "measured", "scale.json"), "--out", folder)
	require.ErrorContains(t, err, "is not a figures file of this benchmark")
	_, err = run(t, "specon-real", "--again", filepath.Join(folder, "none.json"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestDeadline_RefusesInvalidFlags(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "iteration_time.csv"), []byte("batch\n"), 0o644))
	for name, tc := range map[string]struct {
		args      []string
		complaint string
	}{
		"no data":         {nil, "--data is missing: give the folder with iteration_time.csv and node_resource_trace.csv"},
		"an invalid file": {[]string{"--data", folder}, filepath.Join(folder, "iteration_time.csv") + ": "},
		"one seed":        {[]string{"--seeds=1"}, "--seeds 1: 2 to 1000"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TRELLIS_DATA", "")
			_, err := run(t, append([]string{"deadline"}, tc.args...)...)
			require.ErrorContains(t, err, tc.complaint)
		})
	}
}

func TestFlags_EnvironmentVariables(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	t.Setenv("TRELLIS_NODES", "99")
	_, err := run(t, "demo")
	require.ErrorContains(t, err, "--nodes 99")
	_, err = run(t, "demo", "--nodes=2")
	require.ErrorContains(t, err, "make build", "the flag wins")
	t.Setenv("TRELLIS_NODES", "many")
	_, err = run(t, "demo")
	require.ErrorContains(t, err, "TRELLIS_NODES")
	t.Setenv("TRELLIS_NODES", "")
	t.Setenv("KUBECONFIG", "somewhere")
	_, err = run(t, "demo", "--compare")
	require.ErrorContains(t, err, "--compare", "KUBECONFIG sets --kubeconfig")
}

func TestDemo_Help(t *testing.T) {
	help, err := run(t, "demo", "--help")
	require.NoError(t, err)
	for _, word := range []string{"--compare", "--keep", "--quick", "KUBECONFIG", "exit code"} {
		require.Contains(t, help, word)
	}
}

func TestSim_Ends(t *testing.T) {
	folder := t.TempDir()
	_, err := run(t, "sim", "--ends", "--seeds=2", "--out", folder)
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(folder, "sim-ends.json"))
	require.NoError(t, err)
	var s results.Summary
	require.NoError(t, json.Unmarshal(text, &s))
	require.Len(t, s.Goals, 9)
	require.Equal(t, `make sim-ends ARGS="--seeds=2"`, s.Command)
	_, err = run(t, "sim", "--ends", "--history")
	require.ErrorContains(t, err, "--ends excludes --history")
}
