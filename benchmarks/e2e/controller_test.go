//go:build e2e && linux

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// controller is a stock controller of jobs, which a test builds and installs with its own manifests.
type controller struct {
	name       string // of the program, of the folder that pins it, and of that with the overlay
	module     string
	manifests  string // folder of the module
	namespace  string
	deployment string
}

// install builds the controller, and applies its manifests with the overlay in testdata over them.
func (m *moves) install(t *testing.T, c controller) {
	t.Helper()
	built := m.tool(t, nil, "build", "--only="+c.name)
	program := filepath.Join(built[strings.LastIndexByte(built, '\n')+1:], c.name)
	content, err := os.ReadFile(program)
	require.NoError(t, err)
	folder := filepath.Join(m.folder, c.name+"-controller")
	require.NoError(t, os.MkdirAll(folder, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, c.name), content, 0o755))

	manifests := filepath.Join(t.TempDir(), "manifests")
	require.NoError(t, os.CopyFS(manifests, os.DirFS(filepath.Join(c.source(t), c.manifests))))
	patch, err := os.ReadFile(filepath.Join("testdata", c.name, "kustomization.yaml"))
	require.NoError(t, err)
	text := strings.NewReplacer("MACHINE-IMAGE", m.run.Setup.Image, "PROGRAM-FOLDER", folder).Replace(string(patch))
	overlay := filepath.Join(manifests, "trellis")
	require.NoError(t, os.Mkdir(overlay, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), []byte(text), 0o600))
	m.kubectl(t, nil, "apply", "--server-side", "-k", overlay)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(m.kubectl(t, nil, "logs", "-n", c.namespace, "deployment/"+c.deployment, "--tail=60"))
		}
	})
	m.kubectl(t, nil, "rollout", "status", "-n", c.namespace, "deployment/"+c.deployment, "--timeout=5m")
}

// source is the folder of the pinned module in the module cache.
func (c controller) source(t *testing.T) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", c.module)
	cmd.Dir, cmd.Env = filepath.Join("..", "..", "deploy", "local", "stock", c.name), append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	require.NoError(t, err, string(out))
	var module struct{ Dir string }
	require.NoError(t, json.Unmarshal(out, &module))
	return module.Dir
}

// createAccepted creates an object of a controller, whose webhooks may not be reachable yet.
func (m *moves) createAccepted(t *testing.T, object map[string]any) {
	t.Helper()
	content, err := json.Marshal(object)
	require.NoError(t, err)
	eventually(t, "the "+object["kind"].(string)+" is accepted", time.Minute, func() bool {
		out, err := m.command(t, content, "kubectl", "--name", m.local.Name, "--", "create", "-f", "-").CombinedOutput()
		if err != nil {
			t.Log(string(out))
		}
		return err == nil
	})
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
	cmd.Env = append(os.Environ(), "TRELLIS_STOCK_DIR=") // a folder of ready programs has no controllers
	cmd.Stdin = bytes.NewReader(stdin)
	return cmd
}
