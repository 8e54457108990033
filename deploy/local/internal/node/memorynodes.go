package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

var memTotal = regexp.MustCompile(`MemTotal:\s*([0-9]+) kB`)

// WriteMemoryNodes replaces [sysNode] of a tree by a number of NUMA nodes. They divide the cores and the memory of the
// machine in order. Kubelet finds NUMA nodes nowhere else, so its CPU Manager and Topology Manager see that many. The memory
// is that of the machine all the same.
func WriteMemoryNodes(dir string, cores Cores, nodes int) error {
	tree := filepath.Join(dir, sysNode)
	memory, err := machineMemory(tree)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(tree); err != nil {
		return err
	}
	all := make(Cores, nodes)
	for k := range all {
		all[k] = k
		if err := writeMemoryNode(tree, k, nodes, part(cores, k, nodes), memory/int64(nodes)); err != nil {
			return err
		}
	}
	var errs []error
	for _, file := range []string{"online", "possible", "has_cpu", "has_memory", "has_normal_memory"} {
		errs = append(errs, writeFile(filepath.Join(tree, file), []byte(all.String()+"\n")))
	}
	return errors.Join(errs...)
}

// part returns the cores of the k-th of several NUMA nodes.
func part(cores Cores, k, nodes int) Cores {
	return cores[k*len(cores)/nodes : (k+1)*len(cores)/nodes]
}

// machineMemory sums the memory of the nodes of a tree, in KiB.
func machineMemory(tree string) (sum int64, err error) {
	found, err := filepath.Glob(filepath.Join(tree, "node*", "meminfo"))
	if err != nil {
		return 0, err
	}
	for _, path := range found {
		text, err := os.ReadFile(path)
		if err != nil {
			return 0, err
		}
		if m := memTotal.FindSubmatch(text); m != nil {
			size, err := strconv.ParseInt(string(m[1]), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("%s: %w", path, err)
			}
			sum += size
		}
	}
	return sum, nil
}

func writeMemoryNode(tree string, k, nodes int, cores Cores, memory int64) error {
	distances := make([]string, nodes)
	for other := range distances {
		distances[other] = "20"
	}
	distances[k] = "10"
	folder := filepath.Join(tree, fmt.Sprintf("node%d", k))
	err := errors.Join(
		writeFile(filepath.Join(folder, "cpulist"), []byte(cores.String()+"\n")),
		writeFile(filepath.Join(folder, "distance"), []byte(strings.Join(distances, " ")+"\n")),
		writeFile(filepath.Join(folder, "meminfo"), fmt.Appendf(nil, "Node %d MemTotal: %d kB\n", k, memory)),
	)
	for _, core := range cores {
		name := fmt.Sprintf("cpu%d", core)
		err = errors.Join(err, os.Symlink(filepath.Join("../../cpu", name), filepath.Join(folder, name)))
	}
	return err
}
