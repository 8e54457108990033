package signalsave

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/node"
)

// maxProcesses bounds the processes of a container that are looked at.
const maxProcesses = 1024

var (
	// ErrForbidden means that this coordinator may not reach into containers.
	ErrForbidden = errors.New("this node's coordinator may not send signals to jobs and read their files: " +
		"an administrator can allow it by deploy/components/signal-saves")
	// ErrEnded means that no process of the container was left to receive the signal.
	ErrEnded     = errors.New("its processes ended before they had saved")
	errMalformed = errors.New("the status of a process is malformed")
)

// Processes lists a container's processes.
type Processes interface {
	Processes(pod growth.PodUID, container string) ([]int, error)
}

// process is a process of the node.
type process struct {
	pid   int
	name  string
	state string
	start uint64 // in clock ticks since the boot
}

// target finds the process that receives the signal.
func (s Saver) target(r node.SignalSave) (process, error) {
	pids, err := s.pids(r)
	if err != nil {
		return process{}, err
	}
	oldest := process{start: math.MaxUint64}
	var names []string
	for _, pid := range pids {
		p, err := s.process(pid)
		if err != nil || p.ended() {
			continue
		}
		names = append(names, p.name)
		if (r.Signal.Process == "" || p.name == r.Signal.Process) && p.start < oldest.start {
			oldest = p
		}
	}
	switch {
	case len(names) == 0:
		return process{}, ErrEnded
	case oldest.pid == 0:
		slices.Sort(names)
		return process{}, fmt.Errorf("no process of its container has the name %s: there are %.200s",
			r.Signal.Process, strings.Join(slices.Compact(names), ", "))
	}
	return oldest, nil
}

// pids returns the processes of the container, in the order of their numbers.
func (s Saver) pids(r node.SignalSave) ([]int, error) {
	pids, err := s.Processes.Processes(r.Pod.UID, r.Container)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEnded, err)
	}
	slices.Sort(pids)
	if len(pids) > 0 && pids[0] == 0 { // outside this PID namespace
		return nil, ErrForbidden
	}
	return pids[:min(len(pids), maxProcesses)], nil
}

// process reads a process.
func (s Saver) process(pid int) (process, error) {
	content, err := os.ReadFile(filepath.Join(s.Proc, strconv.Itoa(pid), "stat"))
	if err != nil {
		return process{}, err
	}
	p, err := parseStat(string(content))
	p.pid = pid
	return p, err
}

// parseStat parses "<pid> (<name>) <state> <parent> …", with the start in the 20th field after the name. A process chooses its name.
func parseStat(content string) (process, error) {
	_, rest, _ := strings.Cut(content, "(")
	at := strings.LastIndex(rest, ") ")
	if at < 0 {
		return process{}, errMalformed
	}
	fields := strings.Fields(rest[at+2:])
	if len(fields) < 20 {
		return process{}, errMalformed
	}
	start, err := strconv.ParseUint(fields[19], 10, 64)
	return process{name: rest[:at], state: fields[0], start: start}, err
}

// ended reports whether a process has ended and only waits for its parent.
func (p process) ended() bool { return p.state == "Z" || p.state == "X" }

// lives reports whether a process that was found earlier still runs.
func (s Saver) lives(p process) bool {
	now, err := s.process(p.pid)
	return err == nil && now.start == p.start && !now.ended()
}
