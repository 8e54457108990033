package clusterrun

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

const (
	// reserved is the part of each core that the nodes leave to the control plane if they share it.
	reserved = 0.1
	// period is that of a quota, in microseconds; the kernel's default.
	period = 100_000
	// minShare is the least part of a core with which a node is of use.
	minShare = 0.25
)

// share is what each node's pods have of a machine: a core, or as large a part of one as every other node's. A node does not get its part
// of several cores. There, each of a few jobs would run on a core of its own until the quota is used up, so that each would get an equal
// part of it, and the weights that Trellis sets would have no effect.
type share struct {
	// quota bounds the CPU of a node's pods, in cores; 0 if each node has a core of its own.
	quota float64
}

// shareOf divides a machine's cores among nodes. Node k runs on core k modulo the number of cores.
func shareOf(machine, nodes int) (share, error) {
	if machine > nodes {
		return share{}, nil
	}
	onOne := (nodes + machine - 1) / machine
	quota := (1 - reserved) / float64(onOne)
	if quota < minShare {
		return share{}, fmt.Errorf("%d nodes on a machine of %d cores: each would have %.2f of one, and needs %.2f", nodes, machine, quota, minShare)
	}
	return share{quota: quota}, nil
}

// String explains the share.
func (s share) String() string {
	if s.quota == 0 {
		return "one core"
	}
	return fmt.Sprintf("%.2f of a core, by quota", s.quota)
}

// limit sets the quota of a node's pods. root is that of the cgroup file systems.
func (s share) limit(root, cluster, node string) error {
	if s.quota == 0 {
		return nil
	}
	micros := int(s.quota * period)
	pods := filepath.Join("trellis-"+cluster, node, "kubepods")
	if unified, _ := filepath.Glob(filepath.Join(root, pods, "cpu.max")); len(unified) > 0 {
		return os.WriteFile(unified[0], fmt.Appendf(nil, "%d %d", micros, period), 0)
	}
	found, err := filepath.Glob(filepath.Join(root, "cpu*", pods, "cpu.cfs_quota_us")) // of cpu and cpu,cpuacct one may be a link
	if err != nil || len(found) == 0 {
		return errors.Join(err, fmt.Errorf("no cgroup %s with a quota of CPU below %s: does this kernel have them?", pods, root))
	}
	for _, file := range found {
		err = errors.Join(err,
			os.WriteFile(filepath.Join(filepath.Dir(file), "cpu.cfs_period_us"), []byte(strconv.Itoa(period)), 0),
			os.WriteFile(file, []byte(strconv.Itoa(micros)), 0))
	}
	return err
}
