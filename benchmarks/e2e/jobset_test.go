//go:build e2e && linux

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var withJobSet = flag.Bool("jobset", false, "run the test with the controller of JobSets, whose first build takes minutes")

// TestJobSetMoves is TestGangMoves for a JobSet under its own controller. The controller would end the JobSet at the first failure.
func TestJobSetMoves(t *testing.T) {
	if !*withJobSet {
		t.Skip("SKIPPED: the first build of JobSet takes minutes; `make test-jobset` runs this test")
	}
	skipUnlessRoot(t)
	undisturbed := startUndisturbedRanks(t)
	m := newMoves(t, "gangs")
	m.installJobSet(t)
	m.submitJobSet(t)
	m.movesARank(t, undisturbed, m.jobSetEnds)
}

// installJobSet builds the controller, and applies its own manifests with testdata/jobset over them.
func (m *moves) installJobSet(t *testing.T) {
	t.Helper()
	built := m.tool(t, nil, "build", "--only=jobset")
	program := filepath.Join(built[strings.LastIndexByte(built, '\n')+1:], "jobset")
	content, err := os.ReadFile(program)
	require.NoError(t, err)
	folder := filepath.Join(m.folder, "jobset-controller")
	require.NoError(t, os.MkdirAll(folder, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "jobset"), content, 0o755))

	config := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.CopyFS(config, os.DirFS(filepath.Join(jobSetModule(t), "config"))))
	patch, err := os.ReadFile(filepath.Join("testdata", "jobset", "kustomization.yaml"))
	require.NoError(t, err)
	text := strings.NewReplacer("MACHINE-IMAGE", m.run.Setup.Image, "PROGRAM-FOLDER", folder).Replace(string(patch))
	overlay := filepath.Join(config, "trellis")
	require.NoError(t, os.Mkdir(overlay, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), []byte(text), 0o600))
	m.kubectl(t, nil, "apply", "--server-side", "-k", overlay)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(m.kubectl(t, nil, "logs", "-n", "jobset-system", "deployment/jobset-controller-manager", "--tail=40"))
		}
	})
	m.kubectl(t, nil, "rollout", "status", "-n", "jobset-system", "deployment/jobset-controller-manager", "--timeout=5m")
}

// jobSetModule is the folder of the pinned module in the module cache.
func jobSetModule(t *testing.T) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", "sigs.k8s.io/jobset")
	cmd.Dir, cmd.Env = filepath.Join("..", "..", "deploy", "local", "stock", "jobset"), append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	require.NoError(t, err, string(out))
	var module struct{ Dir string }
	require.NoError(t, json.Unmarshal(out, &module))
	return module.Dir
}

// submitJobSet creates a JobSet of one Job. Its webhooks may not be reachable yet.
func (m *moves) submitJobSet(t *testing.T) {
	t.Helper()
	set, err := json.Marshal(map[string]any{
		"apiVersion": "jobset.x-k8s.io/v1alpha2",
		"kind":       "JobSet",
		"metadata":   map[string]any{"name": ddpName, "namespace": m.run.Setup.Namespace},
		"spec": map[string]any{
			"network":       map[string]any{"enableDNSHostnames": false}, // the ranks have a Service of the same name
			"failurePolicy": map[string]any{"maxRestarts": 0},
			"replicatedJobs": []any{map[string]any{
				"name":     "rank",
				"replicas": 1,
				"template": map[string]any{"spec": m.ranks(t)},
			}},
		},
	})
	require.NoError(t, err)
	eventually(t, "the JobSet is accepted", time.Minute, func() bool {
		out, err := m.command(t, set, "kubectl", "--name", m.local.Name, "--", "create", "-f", "-").CombinedOutput()
		if err != nil {
			t.Log(string(out))
		}
		return err == nil
	})
}

// jobSetEnds waits until the JobSet has completed, without a restart.
func (m *moves) jobSetEnds(t *testing.T) {
	t.Helper()
	status := func(field string) string {
		return m.kubectl(t, nil, "get", "jobset", ddpName, "-n", m.run.Setup.Namespace, "-o", "jsonpath={.status."+field+"}")
	}
	eventually(t, "the JobSet ends", 5*time.Minute, func() bool { return status("terminalState") != "" })
	require.Equal(t, "Completed", status("terminalState"))
	require.Contains(t, []string{"", "0"}, status("restarts"))
	failed := m.kubectl(t, nil, "get", "jobs", "-n", m.run.Setup.Namespace, "-o", "jsonpath={.items[*].status.failed}")
	require.Empty(t, strings.Trim(failed, " 0"))
}

func (m *moves) kubectl(t *testing.T, stdin []byte, args ...string) string {
	t.Helper()
	return m.tool(t, stdin, append([]string{"kubectl", "--name", m.local.Name, "--"}, args...)...)
}

// tool runs the tool of the local cluster and returns its output.
func (m *moves) tool(t *testing.T, stdin []byte, args ...string) string {
	t.Helper()
	cmd := m.command(t, stdin, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err, string(out))
	return strings.TrimSpace(string(out))
}

func (m *moves) command(t *testing.T, stdin []byte, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), m.local.Program, args...) // also after a failure
	cmd.Dir = m.local.Folder
	cmd.Env = append(os.Environ(), "TRELLIS_STOCK_DIR=") // a folder of ready programs has no JobSet
	cmd.Stdin = bytes.NewReader(stdin)
	return cmd
}
