package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Identity identifies one process: PIDs are reused, a PID together with its start time is not.
type Identity struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // clock ticks since boot, field 22 of /proc/PID/stat
}

// Self is the calling process.
func Self() (Identity, error) { return Of(os.Getpid()) }

// Of identifies the process that has this PID now.
func Of(pid int) (Identity, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Identity{}, err
	}
	s, err := parseStat(stat)
	if err != nil {
		return Identity{}, fmt.Errorf("process %d: %w", pid, err)
	}
	return Identity{PID: pid, Start: s.start}, nil
}

// status is a part of /proc/PID/stat.
type status struct {
	state  byte
	parent int
	start  uint64
}

// ended reports whether the process has exited and waits to be reaped.
func (s status) ended() bool { return s.state == 'Z' || s.state == 'X' }

// parseStat parses /proc/PID/stat. The program's name is in brackets and may contain any character, brackets included.
func parseStat(stat []byte) (s status, err error) {
	const stateField, parentField, startField = 3, 4, 22
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return s, errors.New("malformed /proc stat line")
	}
	fields := bytes.Fields(stat[end+1:])
	if len(fields) <= startField-stateField || len(fields[0]) != 1 {
		return s, errors.New("short /proc stat line")
	}
	s.state = fields[0][0]
	if s.parent, err = strconv.Atoi(string(fields[parentField-stateField])); err == nil {
		s.start, err = strconv.ParseUint(string(fields[startField-stateField]), 10, 64)
	}
	return s, err
}

// Alive reports whether this process still runs. A zombie does not.
func (id Identity) Alive() bool {
	if id.PID <= 0 {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id.PID))
	if err != nil {
		return false
	}
	s, err := parseStat(stat)
	return err == nil && s.start == id.Start && !s.ended()
}

// Signal sends a signal to this process and to no other: a pidfd holds the PID while its start time is checked.
func (id Identity) Signal(sig unix.Signal) error {
	fd, err := unix.PidfdOpen(id.PID, 0)
	if err != nil {
		return nil // gone
	}
	defer unix.Close(fd)
	if !id.Alive() {
		return nil
	}
	if err := unix.PidfdSendSignal(fd, sig, nil, 0); !errors.Is(err, unix.ESRCH) { // gone since
		return err
	}
	return nil
}

// WaitGone waits up to limit for this process to end, and reports whether it has.
func (id Identity) WaitGone(limit time.Duration) bool {
	fd, err := unix.PidfdOpen(id.PID, 0)
	if err != nil || !id.Alive() {
		return true
	}
	defer unix.Close(fd)
	return pollIn(fd, limit)
}

// pollIn waits until fd is readable, for limit at most. A pidfd becomes readable when its process ends.
func pollIn(fd int, limit time.Duration) bool {
	deadline := time.Now().Add(limit)
	for {
		left := max(time.Until(deadline), 0)
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(left.Milliseconds()))
		if !errors.Is(err, unix.EINTR) {
			return n > 0
		}
	}
}
