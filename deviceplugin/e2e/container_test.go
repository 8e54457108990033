//go:build e2e && linux

package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet/contract"
)

// program is the program of app containers.
const program = "/bin/sleep"

func (p *pods) Inspect(pod, container string) (contract.View, bool) {
	pids := p.processes(pod, container)
	if len(pids) == 0 {
		return contract.View{}, false
	}
	view := contract.View{Environment: map[string]string{}}
	process := filepath.Join("/proc", strconv.Itoa(pids[0]))
	for variable := range strings.SplitSeq(p.environment(process), "\x00") {
		name, value, _ := strings.Cut(variable, "=")
		view.Environment[name] = value
	}
	files, err := os.ReadDir(filepath.Join(process, "root", contract.MountPath))
	require.NoError(p.t, err)
	for _, f := range files {
		view.Files = append(view.Files, f.Name())
	}
	return view, true
}

// environment returns the environment of a process once it runs the container's program. On a busy node, a container
// that the API server reports as running may still execute the runtime.
func (p *pods) environment(process string) string {
	var text []byte
	require.Eventually(p.t, func() bool {
		if command, _ := os.ReadFile(filepath.Join(process, "cmdline")); !bytes.HasPrefix(command, []byte(program)) {
			return false
		}
		text, _ = os.ReadFile(filepath.Join(process, "environ"))
		return len(text) > 0
	}, timeout, 5*time.Millisecond, "%s becomes %s", process, program)
	return string(text)
}

// processes finds a container's processes by their cgroups, which is earlier than their appearance in the API server.
func (p *pods) processes(pod, container string) []int {
	now, _, _ := p.node.pod(pod)
	_, id, ok := strings.Cut(status(now, container).ContainerID, "://")
	if !ok {
		return nil
	}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	var pids []int
	for _, dir := range dirs {
		if cgroups, _ := os.ReadFile(filepath.Join(dir, "cgroup")); bytes.Contains(cgroups, []byte(id)) {
			pid, err := strconv.Atoi(filepath.Base(dir))
			require.NoError(p.t, err)
			pids = append(pids, pid)
		}
	}
	return pids
}

// A container is reported as running before its program runs; the environment must be the program's.
func TestEnvironment_WaitsForProgram(t *testing.T) {
	process := exec.CommandContext(t.Context(), "/bin/sh", "-c", "sleep 0.2; OF=program exec "+program+" 60")
	process.Env = []string{"OF=runtime"}
	require.NoError(t, process.Start())
	t.Cleanup(func() { _ = process.Wait() })
	environment := (&pods{t: t}).environment(filepath.Join("/proc", strconv.Itoa(process.Process.Pid)))
	require.Contains(t, environment, "OF=program\x00")
}
