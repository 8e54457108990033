package chaos

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Proc is where the kernel tells of its processes.
const Proc = "/proc"

// Victims finds, below a proc file system, the processes of a binary in the cgroups of the local cluster of that name.
func Victims(proc, cluster, binary string) ([]int, error) {
	folders, err := filepath.Glob(filepath.Join(proc, "[0-9]*"))
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, folder := range folders {
		pid, err := strconv.Atoi(filepath.Base(folder))
		if err == nil && belongs(folder, cluster, binary) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// belongs reads a process's folder. One that has ended meanwhile belongs nowhere.
func belongs(folder, cluster, binary string) bool {
	command, _ := os.ReadFile(filepath.Join(folder, "cmdline"))
	cgroups, _ := os.ReadFile(filepath.Join(folder, "cgroup"))
	program, _, _ := strings.Cut(string(command), "\x00")
	return program == "/"+binary && strings.Contains(string(cgroups), "/trellis-"+cluster+"/")
}

// Kill sends SIGKILL to every process of a binary of the local cluster, and returns whom.
func Kill(cluster, binary string) ([]int, error) {
	pids, err := Victims(Proc, cluster, binary)
	if err != nil {
		return nil, err
	}
	var killed []int
	var errs []error
	for _, pid := range pids {
		switch err := kill(pid, cluster, binary); {
		case err == nil:
			killed = append(killed, pid)
		case !errors.Is(err, os.ErrProcessDone):
			errs = append(errs, fmt.Errorf("killing %s, process %d: %w", binary, pid, err))
		}
	}
	return killed, errors.Join(errs...)
}

// kill holds on to the process (a pidfd) before it looks once more who that is: numbers are given out again.
func kill(pid int, cluster, binary string) error {
	process, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	defer func() { _ = process.Release() }()
	if !belongs(filepath.Join(Proc, strconv.Itoa(pid)), cluster, binary) {
		return os.ErrProcessDone
	}
	return process.Signal(syscall.SIGKILL)
}
