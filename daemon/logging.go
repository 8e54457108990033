package daemon

import (
	"errors"
	"io"
	"log/slog"
)

// NewLogger returns a logger that writes JSON lines.
//
// The key of an error is "err". The key "reason" is for the reason of a decision, which is not an error.
func NewLogger(w io.Writer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level}))
}

// logLevel is the value of --log-level.
type logLevel slog.Level

// Set implements pflag.Value.
func (l *logLevel) Set(text string) error {
	var level slog.Level
	if err := level.UnmarshalText([]byte(text)); err != nil {
		return errors.New("it is none of debug, info, warn, error")
	}
	*l = logLevel(level)
	return nil
}

// String implements pflag.Value.
func (l *logLevel) String() string {
	switch level := slog.Level(*l); level {
	case slog.LevelDebug:
		return "debug"
	case slog.LevelInfo:
		return "info"
	case slog.LevelWarn:
		return "warn"
	case slog.LevelError:
		return "error"
	default:
		return level.String()
	}
}

// Type implements pflag.Value.
func (l *logLevel) Type() string { return "level" }
