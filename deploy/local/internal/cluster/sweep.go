//go:build linux

package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/trellis-gpu/trellis/deploy/local/internal/cgroup"
	"github.com/trellis-gpu/trellis/deploy/local/internal/network"
	"github.com/trellis-gpu/trellis/deploy/local/internal/process"
	"github.com/trellis-gpu/trellis/deploy/local/internal/state"
)

// patience is how long processes may take to die and cgroups to empty.
const patience = 15 * time.Second

// Sweep ends and deletes everything of a cluster but the caller, by its record and by its names. What is not there is
// no error.
func Sweep(root state.Root, name string) error {
	folder := root.Cluster(name)
	if r, err := folder.Read(); err == nil {
		self, _ := process.Self()
		for _, id := range r.Processes {
			_ = id.Signal(unix.SIGKILL)
		}
		if r.Supervisor != self {
			_ = r.Supervisor.Signal(unix.SIGKILL)
		}
	}
	branch, err := cgroup.BranchOf(name)
	if err == nil {
		err = errors.Join(branch.Kill(patience), branch.Remove(patience))
	}
	return errors.Join(err,
		network.CloseFirewall(name),
		network.Remove(name),
		removeFolder(folder),
		sweepShared(root),
	)
}

// removeFolder deletes the cluster's files. It never walks into a mount: there should be none on the host, and if
// there is one, what lies behind it is not ours.
func removeFolder(folder state.Folder) error {
	for _, mount := range mountsBelow(string(folder)) {
		if err := unix.Unmount(mount, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("unmount %s: %w", mount, err)
		}
	}
	if left := mountsBelow(string(folder)); len(left) > 0 {
		return fmt.Errorf("still mounted, so nothing below %s is deleted: %s", folder, strings.Join(left, ", "))
	}
	return os.RemoveAll(string(folder))
}

// mountsBelow lists the host's mounts below a folder, the innermost first.
func mountsBelow(folder string) []string {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	defer f.Close()
	var found []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) > 4 && strings.HasPrefix(fields[4], folder+"/") {
			found = append([]string{fields[4]}, found...)
		}
	}
	return found
}

// sweepShared deletes what all clusters share once there is none.
func sweepShared(root state.Root) error {
	if _, err := os.Stat(string(root)); err != nil {
		return nil
	}
	all, err := root.LockAll(context.Background())
	if err != nil {
		return err
	}
	names, err := root.Clusters()
	if err != nil || len(names) > 0 {
		all.Release()
		return err
	}
	err = removeHostFolders(root)
	all.ReleaseAndRemove()
	return err
}

// Remnants lists what is left of a cluster.
func Remnants(root state.Root, name string) []string {
	var left []string
	branch, err := cgroup.BranchOf(name)
	if err != nil {
		return []string{err.Error()}
	}
	for _, pid := range branch.PIDs() {
		if pid != os.Getpid() {
			left = append(left, fmt.Sprintf("process %d", pid))
		}
	}
	for _, group := range branch.Groups() {
		left = append(left, "cgroup "+group)
	}
	for _, name := range network.Interfaces(name) {
		left = append(left, "interface "+name)
	}
	for _, rule := range network.FirewallRules(name) {
		left = append(left, "firewall rule "+rule)
	}
	folder := string(root.Cluster(name))
	for _, mount := range mountsBelow(folder) {
		left = append(left, "mount "+mount)
	}
	if _, err := os.Stat(folder); err == nil {
		left = append(left, "folder "+folder)
	}
	return left
}
