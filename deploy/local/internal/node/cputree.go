package node

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Cores are the numbers of a node's processors.
type Cores []int

// CoresOf assigns the machine's cores to nodes in order. Nodes share cores if there are more nodes than cores.
func CoresOf(node, perNode, machine int) Cores {
	cores := make(Cores, perNode)
	for k := range cores {
		cores[k] = (node*perNode + k) % machine
	}
	return cores
}

// String is the kernel's list form: "0,2,3".
func (c Cores) String() string {
	parts := make([]string, len(c))
	for i, n := range c {
		parts[i] = strconv.Itoa(n)
	}
	return strings.Join(parts, ",")
}

func (c Cores) has(n int) bool {
	for _, k := range c {
		if k == n {
			return true
		}
	}
	return false
}

// ParseCores parses the list form.
func ParseCores(list string) (Cores, error) {
	var cores Cores
	for _, part := range strings.Split(list, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("core list %q: numbers and commas only", list)
		}
		cores = append(cores, n)
	}
	return cores, nil
}

// The paths that kubelet (cadvisor) reads the processors from.
const (
	cpuinfo = "proc/cpuinfo"
	sysCPU  = "sys/devices/system/cpu"
	sysNode = "sys/devices/system/node"
)

// WriteCPUTree writes copies of [cpuinfo], [sysCPU] and [sysNode] that show only the given cores to dir. machine is the root
// folder of the real machine.
func WriteCPUTree(machine, dir string, cores Cores) error {
	info, err := os.ReadFile(filepath.Join(machine, cpuinfo))
	if err != nil {
		return err
	}
	if err := writeFile(filepath.Join(dir, cpuinfo), filterCPUInfo(info, cores)); err != nil {
		return err
	}
	for _, tree := range []string{sysCPU, sysNode} {
		if err := copyTree(filepath.Join(machine, tree), filepath.Join(dir, tree), cores); err != nil {
			return fmt.Errorf("copy /%s: %w", tree, err)
		}
	}
	list := []byte(cores.String() + "\n")
	var errs []error
	for _, file := range []string{"online", "possible", "present"} {
		errs = append(errs, writeFile(filepath.Join(dir, sysCPU, file), list))
	}
	return errors.Join(errs...)
}

// filterCPUInfo keeps the paragraphs of the given processors, and paragraphs about none.
func filterCPUInfo(info []byte, cores Cores) []byte {
	var kept [][]byte
	for paragraph := range bytes.SplitSeq(bytes.TrimSpace(info), []byte("\n\n")) {
		if n, ok := processor(paragraph); !ok || cores.has(n) {
			kept = append(kept, paragraph)
		}
	}
	return append(bytes.Join(kept, []byte("\n\n")), "\n\n"...)
}

func processor(paragraph []byte) (int, bool) {
	lines := bufio.NewScanner(bytes.NewReader(paragraph))
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), ":")
		if strings.TrimSpace(key) == "processor" {
			n, err := strconv.Atoi(strings.TrimSpace(value))
			return n, err == nil
		}
	}
	return 0, false
}

// foreign reports whether a name below sysfs is that of a processor of another node.
func foreign(name string, cores Cores) bool {
	n, err := strconv.Atoi(strings.TrimPrefix(name, "cpu"))
	return err == nil && strings.HasPrefix(name, "cpu") && !cores.has(n)
}

// copyTree copies what can be read: folders, files, and the links between cpuN and nodeN.
func copyTree(from, to string, cores Cores) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // the machine has no such tree
		case err != nil:
			return err
		case foreign(d.Name(), cores) && d.IsDir():
			return fs.SkipDir
		case foreign(d.Name(), cores):
			return nil
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		return copyEntry(path, filepath.Join(to, rel), d)
	})
}

func copyEntry(from, to string, d fs.DirEntry) error {
	switch {
	case d.IsDir():
		return os.MkdirAll(to, 0o755)
	case d.Type() == fs.ModeSymlink && (strings.HasPrefix(d.Name(), "cpu") || strings.HasPrefix(d.Name(), "node")):
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	case d.Type().IsRegular():
		content, err := os.ReadFile(from)
		if err != nil {
			return nil // write-only files, and drivers that return an error
		}
		return writeFile(to, content)
	default:
		return nil
	}
}

func writeFile(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o644)
}
