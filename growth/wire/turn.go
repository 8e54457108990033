package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/trellis-gpu/trellis/growth"
)

const (
	// TurnBound bounds the silence of either side on the turn socket. A job that waits for its turn computes if no valid
	// line arrives for so long, so a coordinator repeats its turn to waiting jobs more often than that.
	TurnBound = 30 * time.Second
	// MaxTurnLine is the maximum length of a line on the turn socket with its newline, in bytes.
	MaxTurnLine = 4 << 10
)

// GateState is what a process does with its GPU.
type GateState string

// All states of a gate.
const (
	// GateOpen means that the process computes.
	GateOpen GateState = "open"
	// GateClosed means that the process has stopped after a step, has drained its device, and waits for its turn.
	GateClosed GateState = "closed"
	// GateIdle means that the process does not need its GPU: it waits for data, evaluates on the CPU or saves. It sends
	// GateClosed when it needs the GPU again.
	GateIdle GateState = "idle"
)

// Gate reports the state of one process of a job. It is the first line of a connection, follows each change that the
// process makes, and answers turns. A process that gets its turn does not answer.
type Gate struct {
	State GateState `json:"state"`
	// Sequence is that of the newest turn that the process has received on this connection, 0 before the first. A process
	// that waits starts with any newer turn with Hold.
	Sequence int64 `json:"sequence"`
	// Step is the number of the last complete step.
	Step int64 `json:"step"`
	// Steps and HeldSeconds count the steps and the time in which the process computed since its previous gate line.
	Steps       int64          `json:"steps"`
	HeldSeconds growth.Seconds `json:"held_seconds"`
	Process
}

// Turn orders a process to compute (Hold), or to stop after a step, drain its device and answer GateClosed. A process
// ignores sequences that are not newer than the last one of its connection.
type Turn struct {
	Sequence int64 `json:"sequence"`
	Hold     bool  `json:"hold"`
	// AfterStep is the step after which all processes of a job stop, 0 for the next one. A process answers GateOpen with
	// its own step at once. If that step is AfterStep or later, the process does not stop; the coordinator then cancels
	// the turn for all processes with Hold. A process that has not started yet after an earlier Hold does so.
	AfterStep int64 `json:"after_step,omitempty"`
}

func (Gate) kind() string { return "gate" }
func (Turn) kind() string { return "turn" }

// DecodeGate decodes and validates a line from a job on the turn socket. Its errors are those of Decode.
func DecodeGate(line []byte) (Gate, error) {
	if g, ok := quickGate(line); ok { // almost every line
		return g, malformed("gate", g.check())
	}
	return decodeTurnLine(line, Gate.check)
}

// DecodeTurn decodes and validates a line from a coordinator on the turn socket. Its errors are those of Decode.
func DecodeTurn(line []byte) (Turn, error) { return decodeTurnLine(line, Turn.check) }

func decodeTurnLine[M Message](line []byte, check func(M) error) (m M, err error) {
	if len(line) > MaxTurnLine || !utf8.Valid(line) {
		return m, fmt.Errorf("%w: longer than %d bytes or not UTF-8", ErrMalformed, MaxTurnLine)
	}
	var head envelope
	if err := json.Unmarshal(line, &head); err != nil {
		return m, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if head.Version != Version {
		return m, fmt.Errorf("%w: version %d, this side speaks %d", ErrMalformed, head.Version, Version)
	}
	if head.Type != m.kind() {
		return m, fmt.Errorf("%w %.40q", ErrUnknownType, head.Type)
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return m, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return m, malformed(m.kind(), check(m))
}

func malformed(kind string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %s: %w", ErrMalformed, kind, err)
}

func (g Gate) check() error {
	switch g.State {
	case GateOpen, GateClosed, GateIdle:
	default:
		return fmt.Errorf("state %.40q: it must be open, closed or idle", string(g.State))
	}
	for _, n := range []int64{g.Sequence, g.Step, g.Steps} {
		if n < 0 || n > maxCount {
			return fmt.Errorf("count %d out of range", n)
		}
	}
	if !(g.HeldSeconds >= 0 && g.HeldSeconds <= maxSeconds) {
		return fmt.Errorf("%g seconds out of range", float64(g.HeldSeconds))
	}
	return g.Process.check()
}

func (t Turn) check() error {
	for _, n := range []int64{t.Sequence, t.AfterStep} {
		if n < 0 || n > maxCount {
			return fmt.Errorf("count %d out of range", n)
		}
	}
	if t.Hold && t.AfterStep > 0 {
		return errors.New("a turn with hold has no after_step")
	}
	return nil
}
