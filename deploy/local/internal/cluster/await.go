//go:build linux

package cluster

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// await calls check until check returns nil, for limit at most. If a program ends, it returns an error with the last lines of
// that program's log.
func (s *Supervisor) await(ctx context.Context, what string, limit time.Duration, check func(context.Context) error) error {
	const pause = 200 * time.Millisecond
	deadline := time.After(limit)
	for {
		last := check(ctx)
		if last == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("while waiting for %s: %w", what, context.Cause(ctx))
		case <-deadline:
			return fmt.Errorf("%s not ready after %s: %w", what, limit, last)
		case exit := <-s.starter.Exits():
			return fmt.Errorf("%w\n%s", exit, lastLines(exit.Log))
		case report := <-s.reports:
			return fmt.Errorf("%s\n%s", report, lastLines(logIn(report)))
		case <-time.After(pause):
		}
	}
}

// logIn returns the path of the log in the text of a [process.Exit].
func logIn(report string) string {
	_, path, _ := strings.Cut(report, "(log: ")
	return strings.TrimSuffix(path, ")")
}

// lastLines returns the end of a log, whose folder is deleted before the user reads the message.
func lastLines(path string) string {
	const keep, width = 12, 500
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	lines = lines[max(0, len(lines)-keep):]
	for i, line := range lines {
		lines[i] = line[:min(len(line), width)]
	}
	return "  " + strings.Join(lines, "\n  ")
}
