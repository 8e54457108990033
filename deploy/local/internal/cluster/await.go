//go:build linux

package cluster

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// await asks again and again until the answer is nil. The end of any program ends the wait, with its last words.
func (s *Supervisor) await(ctx context.Context, what string, limit time.Duration, ask func(context.Context) error) error {
	const pause = 200 * time.Millisecond
	deadline := time.After(limit)
	for {
		last := ask(ctx)
		if last == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("while waiting for %s: %w", what, context.Cause(ctx))
		case <-deadline:
			return fmt.Errorf("%s not ready after %s: %w", what, limit, last)
		case exit := <-s.starter.Exits():
			return fmt.Errorf("%w\n%s", exit, lastWords(exit.Log))
		case report := <-s.reports:
			return fmt.Errorf("%s\n%s", report, lastWords(logIn(report)))
		case <-time.After(pause):
		}
	}
}

// logIn finds the path that an [process.Exit] names.
func logIn(report string) string {
	_, path, _ := strings.Cut(report, "(log: ")
	return strings.TrimSuffix(path, ")")
}

// lastWords are the end of a log: the folder it is in will be gone when somebody reads the message.
func lastWords(path string) string {
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
