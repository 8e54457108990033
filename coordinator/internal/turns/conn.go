package turns

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"syscall"
	"time"

	"github.com/trellis-gpu/trellis/growth/wire"
)

const (
	// lineRate bounds the lines per second of a slot: a few for each step of a millisecond. Above it the connections of the
	// slot are not read.
	lineRate = 5000
	// maxRepeats bounds the lines in a row of a connection that neither report another state nor answer a newer turn. A
	// process sends such a line only where it crosses a turn. More of them end the connection, because a process that
	// repeats that it computes keeps the turn until the timeout.
	maxRepeats = 100
)

var errRepeats = fmt.Errorf("%d lines in a row that report nothing new", maxRepeats)

// conn is the connection of one process. Its fields are guarded by Server.mu.
type conn struct {
	*net.UnixConn
	id       int64
	slot     string
	listener *listener
	sequence int64 // of the last turn that was sent
	held     int64 // sequence of the last turn with Hold
	gone     bool  // no longer belongs to the slot; its last lines do not count

	gate    wire.Gate // the last line; zero before the first
	heard   time.Time // time of the last line
	repeats int       // lines in a row that were like the line before
	rate    float64   // steps per second while it computed, as last reported
}

// read passes the lines of a connection on until it ends.
func (s *Server) read(ctx context.Context, c *conn) {
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer func() {
		stop()
		_ = c.Close()
		s.leave(c)
	}()
	lines := bufio.NewReaderSize(c, wire.MaxTurnLine)
	for c.listener.lines.Wait(ctx) == nil {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			if errors.Is(err, bufio.ErrBufferFull) {
				s.reject(c, err)
			}
			return // closed; an incomplete last line is not a message
		}
		gate, err := wire.DecodeGate(line)
		switch {
		case errors.Is(err, wire.ErrUnknownType): // of a newer shim
		case err != nil:
			s.reject(c, err)
			return
		default:
			if err := s.hear(c, gate); err != nil {
				s.reject(c, err)
				return
			}
		}
	}
}

func (s *Server) reject(c *conn, err error) {
	s.metrics.rejected.Inc()
	s.log.Info("a turn connection is closed: it sent an invalid line, or too many", "slot", c.slot, "err", err)
}

// hear applies a line of a process. It returns an error if the connection must be closed.
func (s *Server) hear(c *conn, gate wire.Gate) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.gone {
		return nil
	}
	c.note(gate)
	if c.repeats > maxRepeats {
		return errRepeats
	}
	if j := s.bySlot[c.slot]; j != nil {
		j.hear(c)
	} else if gate.State == wire.GateClosed {
		c.send(true, 0) // no other job has its GPUs
	}
	return nil
}

// note records a line. A line that crosses a turn with Hold on its way does not release that turn: the process that waits
// takes the turn when it arrives.
func (c *conn) note(gate wire.Gate) {
	if gate.State == wire.GateClosed && gate.Sequence < c.held {
		gate.State = wire.GateOpen
	}
	if gate.HeldSeconds > 0 {
		c.rate = float64(gate.Steps) / float64(gate.HeldSeconds)
	}
	if gate.State == c.gate.State && gate.Sequence <= c.gate.Sequence {
		c.repeats++
	} else {
		c.repeats = 0
	}
	c.gate, c.heard = gate, time.Now()
}

// leave removes a connection that has ended.
func (s *Server) leave(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.listener.conns = slices.DeleteFunc(c.listener.conns, func(other *conn) bool { return other == c })
	if j := s.bySlot[c.slot]; j != nil {
		j.left()
		j.askRest(j.conns())
	}
}

// send sends a turn. A process that waits computes once it is sent Hold. A process that does not read loses its connection.
func (c *conn) send(hold bool, afterStep int64) {
	c.sequence++
	if hold {
		c.held = c.sequence
	}
	if hold && c.gate.State == wire.GateClosed {
		c.gate.State, c.heard = wire.GateOpen, time.Now()
	}
	line, err := wire.Encode(wire.Turn{Sequence: c.sequence, Hold: hold, AfterStep: afterStep})
	if err == nil {
		err = c.write(line)
	}
	if err != nil {
		_ = c.Close() // its reader then returns and calls leave
	}
}

// write writes a line at once or not at all. The socket has room unless the process has not read hundreds of lines; a write
// that waited would delay all other jobs.
func (c *conn) write(line []byte) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var written int
	var failed error
	err = raw.Write(func(fd uintptr) bool {
		written, failed = syscall.Write(int(fd), line)
		return true
	})
	if err == nil && failed == nil && written < len(line) {
		failed = io.ErrShortWrite
	}
	return errors.Join(err, failed)
}

// step estimates the step that the process has reached.
func (c *conn) step() int64 {
	step := c.gate.Step
	if c.gate.State == wire.GateOpen {
		step += int64(c.rate * min(time.Since(c.heard).Seconds(), wire.TurnBound.Seconds()))
	}
	return step
}

// before orders the processes of a job by rank.
func (c *conn) before(other *conn) int {
	rank := func(c *conn) int {
		if c.gate.Rank == nil {
			return wire.MaxRanks
		}
		return *c.gate.Rank
	}
	return cmp.Or(cmp.Compare(rank(c), rank(other)), cmp.Compare(c.id, other.id))
}
