package gpushare

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Saved is the value of SavedAnnotation: what came of a request to save.
type Saved struct {
	// Request is the value of SaveAnnotation that this answers.
	Request string
	// Step, SHA256 and Path describe the checkpoint. Path is in the job's container, or a URL.
	Step   int64
	SHA256 string
	Path   string
	// Failed is why the job could not save; empty if it has saved.
	Failed string
}

// movedRequest begins the Request of what a job has saved before it moved. No user can write such a request.
const movedRequest = ".moved-"

// BeforeMove returns what a job has saved for a move, as the pod that continues the job carries it.
func (s Saved) BeforeMove(id string) Saved {
	s.Request = movedRequest + id
	return s
}

// Move returns the ID of the move before which another pod has saved this; empty for any other value.
func (s Saved) Move() string {
	if !s.IsBeforeMove() {
		return ""
	}
	return strings.TrimPrefix(s.Request, movedRequest)
}

// IsBeforeMove reports whether another pod has saved this, and the job has moved from there.
func (s Saved) IsBeforeMove() bool {
	return strings.HasPrefix(s.Request, movedRequest) && s.Failed == ""
}

var savedPattern = regexp.MustCompile(`^(\S{1,64}) step=([0-9]{1,18}) sha256=([0-9a-f]{64}) path=(.+)$`)

// String returns the value: "REQUEST step=N sha256=HEX path=PATH", or "REQUEST failed: REASON".
func (s Saved) String() string {
	if s.Failed != "" {
		return fmt.Sprintf("%s failed: %s", s.Request, s.Failed)
	}
	return fmt.Sprintf("%s step=%d sha256=%s path=%s", s.Request, s.Step, s.SHA256, s.Path)
}

// ParseSaved parses the value of SavedAnnotation.
func ParseSaved(value string) (Saved, error) {
	if request, reason, failed := strings.Cut(value, " failed: "); failed && request != "" && !strings.Contains(request, " ") && reason != "" {
		return Saved{Request: request, Failed: reason}, nil
	}
	fields := savedPattern.FindStringSubmatch(value)
	if fields == nil || !strings.HasPrefix(fields[4], "/") && !IsURL(fields[4]) {
		return Saved{}, fmt.Errorf("annotation %s: %.200q does not describe a checkpoint", SavedAnnotation, value)
	}
	step, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil {
		return Saved{}, fmt.Errorf("annotation %s: %w", SavedAnnotation, err)
	}
	return Saved{Request: fields[1], Step: step, SHA256: fields[3], Path: fields[4]}, nil
}
