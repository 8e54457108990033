package chaos_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/chaos"
)

// cluster is a fake with two containers for each binary.
type cluster struct {
	containers map[string][]chaos.Container
	killed     []string
	deaf       bool
}

func newCluster() *cluster {
	c := &cluster{containers: map[string][]chaos.Container{}}
	for _, binary := range chaos.Binaries() {
		c.containers[binary] = []chaos.Container{{Ready: true, Restarts: 1}, {Ready: true}}
	}
	return c
}

func (c *cluster) Kill(binary string) ([]int, error) {
	c.killed = append(c.killed, binary)
	return []int{len(c.killed), 100 + len(c.killed)}, nil
}

func (c *cluster) Containers(_ context.Context, binary string) ([]chaos.Container, error) {
	if c.deaf {
		return nil, errors.New("the API server is away")
	}
	return c.containers[binary], nil
}

func (c *cluster) restart(binary string, ready bool) {
	for i := range c.containers[binary] {
		c.containers[binary][i].Restarts++
		c.containers[binary][i].Ready = ready
	}
}

const s = time.Second

func one(c *cluster) *chaos.Chaos {
	return &chaos.Chaos{Cluster: c, Plan: []chaos.Strike{{Binary: "tuner", At: 10 * s}}}
}

func turn(t *testing.T, c *chaos.Chaos, now time.Duration) []chaos.News {
	t.Helper()
	news, err := c.Turn(t.Context(), now)
	require.NoError(t, err)
	return news
}

func TestPlan_KillsEachBinaryOnceWithPauses(t *testing.T) {
	orders := map[string]bool{}
	for seed := range uint64(200) {
		plan := chaos.Plan(seed, 20*s, 100*s)
		require.Equal(t, plan, chaos.Plan(seed, 20*s, 100*s), "a seed is a plan")
		var order []string
		for i, strike := range plan {
			order = append(order, strike.Binary)
			require.GreaterOrEqual(t, strike.At, 20*s+time.Duration(i)*20*s)
			require.LessOrEqual(t, strike.At, 20*s+time.Duration(i+1)*20*s)
		}
		require.ElementsMatch(t, chaos.Binaries(), order)
		orders[order[0]+order[1]] = true
	}
	require.Len(t, orders, 12, "every order comes up")
}

func TestChaos_BinaryIsBackOnceRestartedAndReady(t *testing.T) {
	binaries := newCluster()
	c := one(binaries)
	require.Empty(t, turn(t, c, 9*s), "not yet")
	struck := turn(t, c, 11*s)
	require.Len(t, struck, 1)
	require.False(t, struck[0].Returned)
	require.Equal(t, []int{1, 101}, struck[0].Killed)
	require.Empty(t, turn(t, c, 12*s), "kubelet still reports the killed containers")
	binaries.containers["tuner"][0].Restarts++
	require.Empty(t, turn(t, c, 13*s), "one of two")
	binaries.containers["tuner"][1] = chaos.Container{Restarts: 1}
	require.Empty(t, turn(t, c, 14*s), "restarted, not ready")
	require.False(t, c.Settled(14*s))
	binaries.containers["tuner"][1].Ready = true
	back := turn(t, c, 15*s)
	require.Len(t, back, 1)
	require.True(t, back[0].Returned)
	require.Equal(t, 4*s, back[0].Absence())
	require.Equal(t, 2, back[0].Restarts)
	require.True(t, c.Settled(15*s))
	require.NoError(t, c.Failures())
	require.Empty(t, turn(t, c, 16*s))
	require.Equal(t, []string{"tuner"}, binaries.killed, "once")
}

func TestChaos_FailsIfABinaryStaysAway(t *testing.T) {
	binaries := newCluster()
	c := one(binaries)
	turn(t, c, 10*s)
	binaries.restart("tuner", false)
	require.Empty(t, turn(t, c, 10*s+chaos.BackWithin))
	require.True(t, c.Settled(10*s+chaos.BackWithin), "waited long enough")
	require.ErrorContains(t, c.Failures(), "tuner did not come back after kill -9 at 10s")
}

func TestChaos_FailsIfABinaryWasNotKilled(t *testing.T) {
	c := one(newCluster())
	turn(t, c, 9*s)
	require.True(t, c.Settled(9*s), "it is not waited for")
	require.ErrorContains(t, c.Failures(), "tuner was not killed")
}

func TestChaos_PostponesUnhealthyBinaries(t *testing.T) {
	binaries := newCluster()
	c := one(binaries)
	binaries.deaf = true
	_, err := c.Turn(t.Context(), 10*s)
	require.ErrorContains(t, err, "away")
	binaries.deaf = false
	binaries.containers["tuner"][0].Ready = false
	require.Empty(t, turn(t, c, 11*s))
	binaries.containers["tuner"][0].Ready = true
	require.Len(t, turn(t, c, 12*s), 1)
}

func TestVictims_OnlyInTheCluster(t *testing.T) {
	proc := t.TempDir()
	for pid, process := range map[int]struct{ command, cgroup string }{
		11: {"/tuner\x00--listen=:1\x00", "4:cpu,cpuacct:/trellis-demo/node-1/kubepods/pod1/c\n"},
		12: {"/tuner\x00", "0::/trellis-demo/node-2/kubepods/pod2/c\n"},
		21: {"/tuner\x00", "0::/trellis-demo2/node-1/kubepods/pod2/c\n"},
		22: {"/tuner\x00", "0::/user.slice\n"},
		23: {"/usr/bin/tuner\x00", "0::/trellis-demo/node-1/kubepods/pod1/c\n"},
		24: {"/pause\x00/tuner\x00", "0::/trellis-demo/node-1/kubepods/pod1/c\n"},
		25: {"", "0::/trellis-demo/node-1/kubepods/pod1/c\n"},
	} {
		folder := filepath.Join(proc, strconv.Itoa(pid))
		require.NoError(t, os.MkdirAll(folder, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "cmdline"), []byte(process.command), 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "cgroup"), []byte(process.cgroup), 0o644))
	}
	require.NoError(t, os.MkdirAll(filepath.Join(proc, "99"), 0o755), "ended meanwhile")
	found, err := chaos.Victims(proc, "demo", "tuner")
	require.NoError(t, err)
	require.ElementsMatch(t, []int{11, 12}, found)
	found, err = chaos.Victims(proc, "demo/node-2", "tuner")
	require.NoError(t, err)
	require.Equal(t, []int{12}, found, "one node's alone")
}

func TestChild_OfTheParent(t *testing.T) {
	proc := t.TempDir()
	for pid, process := range map[int]struct{ name, parent string }{
		5: {"kubelet", "40"}, 6: {"kubelet", "41"}, 7: {"kubelets", "4"}, 8: {"containerd", "4"}, 9: {"kubelet", "4"},
	} {
		folder := filepath.Join(proc, strconv.Itoa(pid))
		require.NoError(t, os.MkdirAll(folder, 0o755))
		status := "Name:\t" + process.name + "\nState:\tS (sleeping)\nPid:\t" + strconv.Itoa(pid) + "\nPPid:\t" + process.parent + "\nTracerPid:\t0\n"
		require.NoError(t, os.WriteFile(filepath.Join(folder, "status"), []byte(status), 0o644))
	}
	require.NoError(t, os.MkdirAll(filepath.Join(proc, "99"), 0o755), "ended meanwhile")
	found, err := chaos.Child(proc, 4, "kubelet")
	require.NoError(t, err)
	require.Equal(t, 9, found)
	_, err = chaos.Child(proc, 3, "kubelet")
	require.ErrorContains(t, err, "process 3 runs no kubelet")
}

func TestKillChild(t *testing.T) {
	sleep := exec.Command("sleep", "60")
	require.NoError(t, sleep.Start())
	require.NoError(t, chaos.KillChild(os.Getpid(), "sleep"))
	require.ErrorContains(t, sleep.Wait(), "signal: killed")
	require.Error(t, chaos.KillChild(os.Getpid(), "sleep"))
}

func TestKill_WithoutACluster(t *testing.T) {
	killed, err := chaos.Kill("no-such-cluster", "tuner")
	require.NoError(t, err)
	require.Empty(t, killed)
}
