package gpushare

import (
	"fmt"
	"regexp"
	"strings"
)

// CheckpointMethod is how a job saves on request.
type CheckpointMethod string

// All methods.
const (
	// CheckpointSocket is the default: the request goes through the job's socket, and the shim calls the function that the job
	// has registered.
	CheckpointSocket CheckpointMethod = ""
	// CheckpointSignal sends a signal to the job, which then writes a file.
	CheckpointSignal CheckpointMethod = "signal"
	// CheckpointNone means that the job cannot save on request.
	CheckpointNone CheckpointMethod = "none"
)

// Checkpoint is the value of CheckpointAnnotation.
type Checkpoint struct {
	Method CheckpointMethod
	// Signal is the name of a signal, Path the absolute path of the file in the job's container. Only for CheckpointSignal.
	Signal, Path string
}

func parseCheckpoint(value string, s *Spec) error {
	method, rest, _ := strings.Cut(value, ":")
	switch {
	case value == "" || value == "socket":
		return nil
	case value == string(CheckpointNone):
		s.Checkpoint = Checkpoint{Method: CheckpointNone}
		return nil
	case method != string(CheckpointSignal):
		return fmt.Errorf("is none of \"socket\", \"signal:SIGUSR1,<path>\", \"none\"")
	}
	signal, path, _ := strings.Cut(rest, ",")
	if signal != "SIGUSR1" && signal != "SIGUSR2" || !absolute(path) {
		return fmt.Errorf("needs SIGUSR1 or SIGUSR2, and the absolute path of the file that the job then writes, as in " +
			"\"signal:SIGUSR1,/checkpoints/job.pt\"")
	}
	s.Checkpoint = Checkpoint{Method: CheckpointSignal, Signal: signal, Path: path}
	return nil
}

// absolute reports whether a path is an absolute one inside a container.
func absolute(path string) bool {
	return strings.HasPrefix(path, "/") && !strings.Contains(path, "/../") && !strings.HasSuffix(path, "/..") &&
		!strings.HasSuffix(path, "/") && len(path) <= maxPath
}

// ParsePaused parses the value of PausedAnnotation, which may change while the pod runs.
func ParsePaused(value string) (paused bool, err error) {
	switch strings.TrimSpace(value) {
	case "true":
		return true, nil
	case "", "false":
		return false, nil
	}
	return false, fmt.Errorf("annotation %s: %q is neither \"true\" nor \"false\"", PausedAnnotation, value)
}

var savePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.:+-]{0,63}$`)

// CheckSave returns an error for an invalid value of SaveAnnotation, which may change while the pod runs.
func CheckSave(value string) error {
	if value == "" || savePattern.MatchString(value) {
		return nil
	}
	return fmt.Errorf("annotation %s: %q does not identify a request: write a time such as \"2026-05-01T12:00:00Z\", or a name of "+
		"at most 64 letters, digits and _.:+-", SaveAnnotation, value)
}
