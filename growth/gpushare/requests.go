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
	// CheckpointSignal means that the job writes a file when it receives a signal (SaveSignal).
	CheckpointSignal Checkpoint = "signal"
)

// SaveSignal is how a job saves that does not register a function with the shim.
type SaveSignal struct {
	// Name is the name of the signal.
	Name string
	// Process is the name of the process that receives it; empty for the main process of the container.
	Process string
	// Path is the file that the job writes then, in the container.
	Path string
}

var (
	signalPattern = regexp.MustCompile(`^signal:(SIGUSR1|SIGUSR2)(:([A-Za-z0-9_.-]{1,15}))?$`)
	// pathPattern and climbs describe a path whose file a reader finds at once: absolute, and with neither "." nor "..".
	pathPattern = regexp.MustCompile(`^(/[^/[:cntrl:]]+)+$`)
	climbs      = regexp.MustCompile(`/[.][.]?(/|$)`)
)

func parseCheckpoint(value string, s *Spec) error {
	switch value {
	case "", "socket":
		s.Checkpoint = CheckpointSocket
		return nil
	case string(CheckpointNone):
		s.Checkpoint = CheckpointNone
		return nil
	}
	parts := signalPattern.FindStringSubmatch(value)
	if parts == nil {
		return fmt.Errorf(`is none of "socket", "signal:SIGUSR1", "signal:SIGUSR1:PROCESS", "none"; SIGUSR2 is as good as SIGUSR1`)
	}
	s.Checkpoint = CheckpointSignal
	s.Signal.Name, s.Signal.Process = parts[1], parts[3]
	return nil
}

// parseCheckpointPath runs after parseCheckpoint.
func parseCheckpointPath(value string, s *Spec) error {
	signal := s.Checkpoint == CheckpointSignal
	switch {
	case value == "" && !signal:
		return nil
	case value == "":
		return fmt.Errorf("is missing: it names the file that the job writes on %s, such as \"/checkpoints/job.pt\"", s.Signal.Name)
	case !signal:
		return fmt.Errorf("is for jobs with %s: signal:SIGUSR1; others name their file with gpushare.on_save()", CheckpointAnnotation)
	case strings.Contains(value, "://"):
		return fmt.Errorf("is a URL, and Trellis must see the file that the job writes on %s: mount the bucket as a volume and name the path there, "+
			"or save with gpushare.on_save()", s.Signal.Name)
	case len(value) > maxPath || !pathPattern.MatchString(value) || climbs.MatchString(value):
		return fmt.Errorf("needs the absolute path of a file inside the container, as in \"/checkpoints/job.pt\"")
	}
	s.Signal.Path = value
	return nil
}

func parseCheckpointVolume(value string, s *Spec) error {
	if value != "" && value != "shared" {
		return fmt.Errorf("is not \"shared\": leave it out unless all nodes read the same files at the path of the checkpoint")
	}
	s.CheckpointShared = value == "shared"
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

// IsPaused reports whether the user of a pod wants its job to be paused.
func IsPaused(annotations map[string]string) bool {
	paused, err := ParsePaused(annotations[PausedAnnotation])
	return err == nil && paused
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
