//go:build e2e && linux

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// hostFolders are what nodes mount over; a host that lacked them must lack them again afterwards.
var hostFolders = []string{"/var/lib/kubelet", "/var/lib/trellis", "/var/lib/cni", "/var/log/pods", "/var/log/containers", "/var/lib/trellis-local"}

// local is the program under test, built as it is shipped.
type local struct {
	t    *testing.T
	path string
}

func buildLocal(t *testing.T) local {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: a local cluster needs root")
	}
	l := local{t: t, path: filepath.Join(t.TempDir(), "local")}
	out, err := exec.Command("go", "build", "-o", l.path, "..").CombinedOutput()
	require.NoError(t, err, string(out))
	return l
}

// command prepares a call. A cluster that this process leaves behind goes with it.
func (l local) command(args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	l.t.Cleanup(cancel)
	return exec.CommandContext(ctx, l.path, args...)
}

func (l local) try(args ...string) (string, error) {
	out, err := l.command(args...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (l local) run(args ...string) string {
	l.t.Helper()
	out, err := l.try(args...)
	require.NoError(l.t, err, "local %s: %s", strings.Join(args, " "), out)
	return out
}

// up brings a cluster of a random name up.
func (l local) up(args ...string) string {
	l.t.Helper()
	name := randomName()
	l.t.Cleanup(func() {
		out, err := l.try("down", "--name="+name)
		require.NoError(l.t, err, out)
	})
	l.t.Log(l.run(append([]string{"up", "--name=" + name, "--with-pid", fmt.Sprint(os.Getpid())}, args...)...))
	return name
}

func randomName() string { return fmt.Sprintf("e2e-%06x", rand.IntN(1<<24)) }

func (l local) kubectl(name string, args ...string) string {
	l.t.Helper()
	return l.run(append([]string{"kubectl", "--name=" + name, "--"}, args...)...)
}

func (l local) apply(name, manifest string) {
	l.t.Helper()
	cmd := l.command("kubectl", "--name="+name, "--", "apply", "-f", "-")
	cmd.Stdin = strings.NewReader(manifest)
	out, err := cmd.CombinedOutput()
	require.NoError(l.t, err, string(out))
}

func (l local) supervisor(name string) int {
	l.t.Helper()
	var status struct{ Supervisor int }
	require.NoError(l.t, json.Unmarshal([]byte(l.run("status", "--name="+name, "-o", "json")), &status))
	return status.Supervisor
}

// left lists what the machine still holds of a cluster. It shares no code with the program, on purpose.
func left(t *testing.T, name string) []string {
	t.Helper()
	var found []string
	for _, pattern := range []string{"/sys/fs/cgroup/trellis-" + name, "/sys/fs/cgroup/*/trellis-" + name, "/var/lib/trellis-local/" + name + "*"} {
		matches, err := filepath.Glob(pattern)
		require.NoError(t, err)
		found = append(found, matches...)
	}
	interfaces, err := net.Interfaces()
	require.NoError(t, err)
	for _, i := range interfaces {
		alias, _ := os.ReadFile("/sys/class/net/" + i.Name + "/ifalias")
		if strings.Contains(string(alias), name) {
			found = append(found, "interface "+i.Name)
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	if strings.Contains(string(mounts), name) {
		found = append(found, "a mount")
	}
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, file := range processes {
		if line, _ := os.ReadFile(file); bytes.Contains(line, []byte("/"+name+"/")) || bytes.Contains(line, []byte("--name="+name)) {
			found = append(found, fmt.Sprintf("process %s: %q", file, line))
		}
	}
	return found
}

func firewall(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("iptables", "-w", "10", "-S").Output()
	require.NoError(t, err)
	return string(out)
}

// absent lists the host folders that do not exist.
func absent() []string {
	var names []string
	for _, folder := range hostFolders {
		if _, err := os.Stat(folder); err != nil {
			names = append(names, folder)
		}
	}
	return names
}

// stockFolder is the folder of the cluster's own programs.
func (l local) stockFolder(name string) string {
	l.t.Helper()
	var record struct{ Stock string }
	content, err := os.ReadFile(filepath.Join("/var/lib/trellis-local", name, "state.json"))
	require.NoError(l.t, err)
	require.NoError(l.t, json.Unmarshal(content, &record))
	return record.Stock
}
