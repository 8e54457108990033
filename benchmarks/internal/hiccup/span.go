package hiccup

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Span is a time, from and to by Now.
type Span struct{ From, To time.Duration }

// Now is the time since the machine began, on the clock that all of its processes have.
func Now() time.Duration {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // it can not fail for a clock that there is
	return time.Duration(now.Nano())
}

// String is the line that Read reads.
func (s Span) String() string { return fmt.Sprintf("%d %d", s.From, s.To) }

// Spans are hiccups, on all processors and in no order.
type Spans []Span

// Read reads what Watch has written so far.
func Read(from io.Reader) (Spans, error) {
	var all Spans
	for lines := bufio.NewScanner(from); lines.Scan(); {
		var s Span
		if _, err := fmt.Sscan(lines.Text(), &s.From, &s.To); err != nil {
			return nil, fmt.Errorf("%q is no hiccup: %w", lines.Text(), err)
		}
		all = append(all, s)
	}
	return all, nil
}

// Meet tells whether a processor stood still during a span.
func (all Spans) Meet(s Span) bool {
	return slices.ContainsFunc(all, func(still Span) bool { return still.From < s.To && still.To > s.From })
}
