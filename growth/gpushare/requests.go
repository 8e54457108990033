package gpushare

import (
	"fmt"
	"regexp"
	"strings"
)

// Checkpoint is how a job saves on request.
type Checkpoint string

// All values of CheckpointAnnotation.
const (
	// CheckpointSocket is the default: the request goes through the job's socket, and the shim calls the function that the job
	// has registered.
	CheckpointSocket Checkpoint = ""
	// CheckpointNone means that the job does not save on request.
	CheckpointNone Checkpoint = "none"
)

func parseCheckpoint(value string, s *Spec) error {
	switch value {
	case "", "socket":
		s.Checkpoint = CheckpointSocket
	case string(CheckpointNone):
		s.Checkpoint = CheckpointNone
	default:
		return fmt.Errorf("is neither \"socket\" nor \"none\"")
	}
	return nil
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
