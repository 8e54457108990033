package mover

import (
	"fmt"
	"strconv"
)

// Mode is which jobs move. It is the value of a flag.
type Mode string

// All modes, each with what the one before it does.
const (
	// Off moves nothing.
	Off Mode = "off"
	// Requested moves the jobs whose users ask for it.
	Requested Mode = "requested"
	// DryRun also says which jobs would move without a request, and does not move them.
	DryRun Mode = "dry-run"
	// Automatic also moves jobs without a request.
	Automatic Mode = "automatic"
)

// String implements pflag.Value.
func (m *Mode) String() string { return string(*m) }

// Type implements pflag.Value.
func (m *Mode) Type() string { return "mode" }

// Set implements pflag.Value. Earlier releases had a flag that was true or false.
func (m *Mode) Set(value string) error {
	if on, err := strconv.ParseBool(value); err == nil {
		*m = map[bool]Mode{false: Off, true: Requested}[on]
		return nil
	}
	switch to := Mode(value); to {
	case Off, Requested, DryRun, Automatic:
		*m = to
		return nil
	}
	return fmt.Errorf("%q: off, requested, dry-run or automatic", value)
}

// Any reports whether any job moves. The zero value is Off.
func (m Mode) Any() bool { return m != Off && m != "" }

// decides reports whether moves without a request are considered.
func (m Mode) decides() bool { return m == DryRun || m == Automatic }
