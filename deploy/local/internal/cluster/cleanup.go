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

// exitTimeout bounds the time in which processes end and cgroups become empty.
const exitTimeout = 15 * time.Second

// CleanUp ends the processes of a cluster, except the caller, and deletes all that belongs to it. It finds them by the record
// and by their names. It may be called again at any time.
func CleanUp(root state.Root, name string) error {
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
		err = errors.Join(branch.Kill(exitTimeout), branch.Remove(exitTimeout))
	}
	return errors.Join(err,
		network.CloseFirewall(name),
		network.Remove(name),
		removeFolder(folder),
		cleanUpShared(root),
	)
}

// removeFolder deletes the cluster's files. It never descends into a mount: the host should have none there, and the content
// of one would belong to something else.
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

// cleanUpShared deletes the parts that all clusters share, if this was the last cluster.
func cleanUpShared(root state.Root) error {
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

// Remnants lists all that still exists of a cluster.
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
