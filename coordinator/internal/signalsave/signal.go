package signalsave

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/trellis-gpu/trellis/growth/node"
)

// checkHandler returns an error unless the process catches the signal.
func (s Saver) checkHandler(p process, r node.SignalSave) error {
	content, err := os.ReadFile(filepath.Join(s.Proc, strconv.Itoa(p.pid), "status"))
	if err != nil {
		return ErrEnded
	}
	bit := uint64(1) << (number(r) - 1)
	switch {
	case mask(string(content), "SigCgt:")&bit != 0:
		return nil
	case mask(string(content), "SigIgn:")&bit != 0:
		return fmt.Errorf("its process %s ignores %s, so nothing was sent%s", p.name, r.Signal.Name, advice(r))
	}
	return fmt.Errorf("its process %s has no handler for %s, which would end it, so nothing was sent%s", p.name, r.Signal.Name, advice(r))
}

// advice names the annotation for a job whose main process is a shell or a launcher.
func advice(r node.SignalSave) string {
	if r.Signal.Process != "" {
		return ""
	}
	return fmt.Sprintf(": install one, or name the process that has it, as in \"signal:%s:python3\"", r.Signal.Name)
}

// mask returns a line of a process's status that is a hexadecimal mask.
func mask(status, name string) uint64 {
	_, rest, _ := strings.Cut("\n"+status, "\n"+name)
	line, _, _ := strings.Cut(rest, "\n")
	bits, _ := strconv.ParseUint(strings.TrimSpace(line), 16, 64)
	return bits
}

// send sends the signal to a process that was found earlier.
func (s Saver) send(p process, r node.SignalSave) error {
	handle, err := os.FindProcess(p.pid) // a descriptor of the process, where the kernel has them
	if err != nil {
		return ErrEnded
	}
	defer func() { _ = handle.Release() }()
	pids, err := s.pids(r)
	if err != nil {
		return err
	}
	if !s.lives(p) || !slices.Contains(pids, p.pid) { // the number may be that of another process by now
		return ErrEnded
	}
	err = handle.Signal(number(r))
	switch {
	case errors.Is(err, fs.ErrPermission):
		return ErrForbidden
	case errors.Is(err, os.ErrProcessDone):
		return ErrEnded
	}
	return err
}

func number(r node.SignalSave) unix.Signal {
	if r.Signal.Name == "SIGUSR2" {
		return unix.SIGUSR2
	}
	return unix.SIGUSR1
}
