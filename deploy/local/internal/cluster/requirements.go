//go:build linux

package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/trellis-gpu/trellis/deploy/local/internal/cgroup"
)

// minDisk is enough for the project's images and a few jobs.
const minDisk = 6 << 30

var tools = []string{"runc", "iptables", "conntrack"}

var cniPlugins = []string{"bridge", "host-local", "portmap", "loopback"}

// CheckMachine returns one error with all that this machine lacks to run a cluster.
func CheckMachine(stateRoot string) error {
	if os.Geteuid() != 0 {
		return errors.New("a local cluster creates namespaces, cgroups and a bridge: run this as root")
	}
	var errs []error
	var missing []string
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			missing = append(missing, tool)
		}
	}
	for _, plugin := range cniPlugins {
		if _, err := os.Stat(filepath.Join("/usr/lib/cni", plugin)); err != nil {
			missing = append(missing, "/usr/lib/cni/"+plugin)
		}
	}
	if len(missing) > 0 {
		errs = append(errs, fmt.Errorf("missing %s: scripts/install-deps installs them", strings.Join(missing, ", ")))
	}
	if hs, err := cgroup.Mounted(); err != nil {
		errs = append(errs, err)
	} else if missing := cgroup.Missing(hs); len(missing) > 0 {
		errs = append(errs, fmt.Errorf("this machine offers no cgroup controller %s, which kubelet needs", strings.Join(missing, ", ")))
	}
	return errors.Join(append(errs, checkDisk(stateRoot))...)
}

func checkDisk(path string) error {
	for {
		var fs unix.Statfs_t
		err := unix.Statfs(path, &fs)
		if err == nil {
			if free := fs.Bavail * uint64(fs.Bsize); free < minDisk {
				return fmt.Errorf("%.1f GiB free at %s, a local cluster wants %d GiB: free some, or choose another folder with --state-root",
					float64(free)/(1<<30), path, minDisk>>30)
			}
			return nil
		}
		if path == filepath.Dir(path) {
			return fmt.Errorf("read the free disk space: %w", err)
		}
		path = filepath.Dir(path)
	}
}
