//go:build e2e && linux

package e2e

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pod runs the host's own shell in the pause image.
const pod = `
apiVersion: v1
kind: Pod
metadata: {name: shell}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: trellis.local/pause:1
    command: [/bin/bash, -c, "echo hello from $HOSTNAME; sleep 3600"]
    resources: {requests: {cpu: 100m}}
    volumeMounts:
    - {name: usr, mountPath: /usr, readOnly: true}
    - {name: bin, mountPath: /bin, readOnly: true}
    - {name: lib, mountPath: /lib, readOnly: true}
    - {name: lib64, mountPath: /lib64, readOnly: true}
  volumes:
  - {name: usr, hostPath: {path: /usr}}
  - {name: bin, hostPath: {path: /bin}}
  - {name: lib, hostPath: {path: /lib}}
  - {name: lib64, hostPath: {path: /lib64}}
`

func TestCluster_FromUpToDown(t *testing.T) {
	l := buildLocal(t)
	alone := l.run("list") == "" // otherwise other clusters may start or end during the test
	missingBefore, firewallBefore := absent(), firewall(t)
	name := l.up("--nodes=1")

	t.Run("up again changes nothing", func(t *testing.T) {
		before := l.supervisor(name)
		begin := time.Now()
		require.Contains(t, l.run("up", "--name="+name, "--nodes=1"), "is up already")
		require.Less(t, time.Since(begin), 5*time.Second)
		require.Equal(t, before, l.supervisor(name))
		out, err := l.try("up", "--name="+name, "--nodes=2")
		require.Error(t, err)
		require.Contains(t, out, "take it down first")
	})
	t.Run("a pod runs, with logs and exec", func(t *testing.T) {
		l.apply(name, pod)
		l.kubectl(name, "wait", "--for=condition=Ready", "pod/shell", "--timeout=120s")
		require.Equal(t, "hello from shell", l.kubectl(name, "logs", "shell"))
		require.Equal(t, "shell", l.kubectl(name, "exec", "shell", "--", "hostname"))
		require.Equal(t, "open", l.kubectl(name, "exec", "shell", "--", "bash", "-c",
			"exec 3<>/dev/tcp/$KUBERNETES_SERVICE_HOST/$KUBERNETES_SERVICE_PORT && echo open"))
	})
	t.Run("a node has only its core", func(t *testing.T) {
		require.Equal(t, "1", l.kubectl(name, "get", "node", "node-1", "-o", "jsonpath={.status.capacity.cpu}"))
		require.Equal(t, "1", l.kubectl(name, "exec", "shell", "--", "nproc"))
	})
	t.Run("an in-place resize reaches the running container", func(t *testing.T) {
		weight := func() int {
			text := l.kubectl(name, "exec", "shell", "--", "bash", "-c",
				"cat /sys/fs/cgroup/cpu/cpu.shares 2>/dev/null || cat /sys/fs/cgroup/cpu.weight")
			n, err := strconv.Atoi(text)
			require.NoError(t, err)
			return n
		}
		before := weight()
		l.kubectl(name, "patch", "pod", "shell", "--subresource=resize", "--type=strategic", "-p",
			`{"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"500m"}}}]}}`)
		require.Eventually(t, func() bool { return weight() > 4*before }, time.Minute, time.Second)
		require.Equal(t, "0", l.kubectl(name, "get", "pod", "shell", "-o", "jsonpath={.status.containerStatuses[0].restartCount}"))
	})
	t.Run("a killed kubelet restarts and its pod keeps running", func(t *testing.T) {
		require.Contains(t, l.run("restart-kubelet", "--name="+name), "node-1/kubelet started again")
		l.run("status", "--name="+name)
		require.Eventually(t, func() bool {
			out, err := l.try("kubectl", "--name="+name, "--", "exec", "shell", "--", "hostname")
			return err == nil && strings.HasSuffix(out, "shell")
		}, time.Minute, 100*time.Millisecond)
		require.Equal(t, "0", l.kubectl(name, "get", "pod", "shell", "-o", "jsonpath={.status.containerStatuses[0].restartCount}"))
		out, err := l.try("restart-kubelet", "--name="+name, "--node=node-9")
		require.Error(t, err)
		require.Contains(t, out, `no running node "node-9"`)
	})
	t.Run("down after a crash removes this cluster and no other", func(t *testing.T) {
		other := l.up("--nodes=2")
		require.NoError(t, syscall.Kill(l.supervisor(name), syscall.SIGKILL))
		require.Eventually(t, func() bool {
			out, _ := l.try("status", "--name="+name)
			return strings.Contains(out, "crashed")
		}, time.Minute, 100*time.Millisecond)
		require.NotEmpty(t, left(t, name), "a crash leaves something to find")

		require.Contains(t, l.run("down", "--name="+name), "nothing is left")
		require.Empty(t, left(t, name))
		require.Contains(t, l.run("status", "--name="+other), "cluster "+other+": up")
		require.Contains(t, l.run("down", "--name="+other), "nothing is left")
		require.Empty(t, left(t, other))
	})
	if alone && l.run("list") == "" {
		require.Equal(t, missingBefore, absent())
		require.Equal(t, firewallBefore, firewall(t))
	}
}

func TestUp_RollsBackWhenInterrupted(t *testing.T) {
	l := buildLocal(t)
	tests := map[string]syscall.Signal{"Ctrl-C": syscall.SIGINT, "killed": syscall.SIGKILL}
	for kind, signal := range tests {
		t.Run(kind, func(t *testing.T) {
			name := randomName()
			cmd := l.command("up", "--name="+name, "--nodes=1")
			stdout, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			t.Cleanup(func() { _, _ = l.try("down", "--name="+name) })
			lines := bufio.NewScanner(stdout)
			for lines.Scan() && !strings.Contains(lines.Text(), "node-1 started") {
			}
			require.NoError(t, cmd.Process.Signal(signal))
			for lines.Scan() { // until it has ended
			}
			require.Error(t, cmd.Wait())
			if signal == syscall.SIGINT {
				require.Empty(t, left(t, name), "rolled back when the command returns")
			}
			require.Eventually(t, func() bool { return len(left(t, name)) == 0 }, time.Minute, 100*time.Millisecond)
		})
	}
}

func TestCluster_EndsWithItsOwner(t *testing.T) {
	l := buildLocal(t)
	owner := exec.Command("sleep", "600")
	require.NoError(t, owner.Start())
	name := randomName()
	t.Cleanup(func() { _, _ = l.try("down", "--name="+name) })
	l.run("up", "--name="+name, "--nodes=1", "--with-pid", strconv.Itoa(owner.Process.Pid))
	require.NotEmpty(t, left(t, name))
	require.NoError(t, owner.Process.Signal(os.Kill))
	_ = owner.Wait()
	require.Eventually(t, func() bool { return len(left(t, name)) == 0 }, time.Minute, 100*time.Millisecond)
}
