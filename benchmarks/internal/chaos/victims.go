package chaos

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Proc is the proc file system.
const Proc = "/proc"

// Victims returns the processes of a binary in the cgroups of a local cluster, or of one of its nodes:
// "<cluster>/<node>".
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

// belongs reports whether a process runs the binary in the cluster. A process that has ended does not.
func belongs(folder, cluster, binary string) bool {
	command, _ := os.ReadFile(filepath.Join(folder, "cmdline"))
	cgroups, _ := os.ReadFile(filepath.Join(folder, "cgroup"))
	program, _, _ := strings.Cut(string(command), "\x00")
	return program == "/"+binary && strings.Contains(string(cgroups), "/trellis-"+cluster+"/")
}

// Kill sends SIGKILL to every process of a binary of the local cluster, and returns their IDs.
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

// kill opens the process as a pidfd and checks it once more: IDs are reused.
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

// KillChild sends SIGKILL to the program of that name which the process started itself.
func KillChild(parent int, program string) error {
	child, err := Child(Proc, parent, program)
	if err != nil {
		return err
	}
	process, err := os.FindProcess(child)
	if err != nil {
		return err
	}
	defer func() { _ = process.Release() }()
	if !nameAndParent(filepath.Join(Proc, strconv.Itoa(child)), parent, program) { // IDs are reused
		return fmt.Errorf("%s, process %d, has just ended", program, child)
	}
	if err := process.Signal(syscall.SIGKILL); err != nil {
		return fmt.Errorf("killing %s, process %d: %w", program, child, err)
	}
	return nil
}

// Child returns the program of that name which the process started itself.
func Child(proc string, parent int, program string) (int, error) {
	folders, err := filepath.Glob(filepath.Join(proc, "[0-9]*"))
	if err != nil {
		return 0, err
	}
	for _, folder := range folders {
		if pid, err := strconv.Atoi(filepath.Base(folder)); err == nil && nameAndParent(folder, parent, program) {
			return pid, nil
		}
	}
	return 0, fmt.Errorf("process %d runs no %s", parent, program)
}

// nameAndParent returns the name of a process's program and its parent.
func nameAndParent(folder string, parent int, program string) bool {
	status, _ := os.ReadFile(filepath.Join(folder, "status"))
	return bytes.HasPrefix(status, []byte("Name:\t"+program+"\n")) && bytes.Contains(status, []byte("\nPPid:\t"+strconv.Itoa(parent)+"\n"))
}
