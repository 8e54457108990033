package gpushare

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/elastic"
)

// Spec is the validated content of a pod's annotations.
type Spec struct {
	// Memory is requested on each of Count GPUs of one node.
	Memory growth.MiB
	Count  int
	// Cores is a percentage of a GPU's compute; 0 if not specified.
	Cores int
	// Metric is the name of the evaluation function, Direction the direction in which it improves, and DirectionFrom
	// where the direction comes from.
	Metric        string
	Direction     growth.Direction
	DirectionFrom DirectionSource
	// Target is the value of the metric with which the user is satisfied.
	Target Target
	// Priority is the weight in fair sharing; 0 if not specified.
	Priority Priority
	// Deadline is when the user needs the result.
	Deadline Deadline
	// Elastic is the range of numbers of workers; zero if not specified.
	Elastic elastic.Range
	// Gang is the job of several pods that the pod belongs to; zero if not specified.
	Gang Gang
	// Progress is the source of progress reports.
	Progress Progress
	// Checkpoint is how the job saves on request, Signal what a job needs that saves by a signal.
	Checkpoint Checkpoint
	Signal     SaveSignal
	// CheckpointShared is set if the user says that all nodes read the same files at the path of the checkpoint.
	CheckpointShared bool
	// Tune lists the knobs that Trellis may turn while the job runs.
	Tune []Knob
}

// Knob is a setting that Trellis may change on a running job.
type Knob string

// All knobs.
const (
	TuneCPU       Knob = "cpu"
	TuneLoaders   Knob = "loaders"
	TuneBatchSize Knob = "batch-size"
	// TuneGPUTime lets Trellis pause the job between two steps while another job has the turn of the GPU.
	TuneGPUTime Knob = "gpu-time"
	// TuneResources lets Trellis change the memory request.
	TuneResources Knob = "resources"
	// TuneWorkers lets Trellis change the number of workers of an elastic job.
	TuneWorkers Knob = "workers"
)

// TuneNone is the value of TuneAnnotation that permits nothing.
const TuneNone = "none"

// Allows reports whether Trellis may turn a knob.
func (s Spec) Allows(knob Knob) bool { return slices.Contains(s.Tune, knob) }

// Similar returns the key that similar jobs share: those of one program with the same evaluation function. It is empty for
// an unknown program.
func (s Spec) Similar(program string) string {
	if program == "" {
		return ""
	}
	return program + " " + s.Metric + ":" + s.Direction.String()
}

// Source is a kind of progress source.
type Source string

// All sources.
const (
	FromSocket Source = "socket"
	FromLog    Source = "log"
	FromFile   Source = "file"
)

// Progress is a source of progress reports.
type Progress struct {
	Source Source
	// Pattern matches a line of the log; its first group is the metric. Only for FromLog.
	Pattern *regexp.Regexp
	// Path is the file inside the container. Only for FromFile.
	Path string
}

// Bounds on the values of annotations.
const (
	maxMemory  growth.MiB = 1 << 20 // 1 TiB, several times the largest GPU
	maxCount              = 64
	maxPattern            = 512
	maxPath               = 512
	maxMetric             = 64
)

var metricName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_./@-]*$`)

// mirrorAnnotation marks the API server's copy of a static pod. Kubelet runs such a pod without admission.
const mirrorAnnotation = "kubernetes.io/config.mirror"

// RequestsShare reports whether the annotations request a share. Those of a static pod do not: no admission policy turns them
// into a limit, and a static pod cannot be resized.
func RequestsShare(annotations map[string]string) bool {
	_, asks := annotations[MemoryAnnotation]
	_, static := annotations[mirrorAnnotation]
	return asks && !static
}

// Parse parses a pod's annotations. Its errors become events. They name the annotation, quote the value, and describe
// valid values.
func Parse(annotations map[string]string) (Spec, error) { return parse(annotations, true) }

// ParseWithLimits is Parse for a pod that requests GPU memory by its containers' limits. MemoryAnnotation may be missing,
// and Spec.Memory is 0 then.
func ParseWithLimits(annotations map[string]string) (Spec, error) { return parse(annotations, false) }

func parse(annotations map[string]string, needsMemory bool) (Spec, error) {
	s := Spec{Count: 1, Metric: "loss", Direction: growth.Minimize, DirectionFrom: DirectionKnown}
	for _, p := range []struct {
		name  string
		parse func(string, *Spec) error
	}{
		{MemoryAnnotation, parseMemory},
		{CountAnnotation, parseCount},
		{CoresAnnotation, parseCores},
		{MetricAnnotation, parseMetric},
		{TargetAnnotation, parseTarget},
		{PriorityAnnotation, parsePriority},
		{DeadlineAnnotation, parseDeadline},
		{ElasticAnnotation, parseElastic},
		{GangAnnotation, parseGang},
		{ProgressAnnotation, parseProgress},
		{TuneAnnotation, parseTune},
		{CheckpointAnnotation, parseCheckpoint},
		{CheckpointPathAnnotation, parseCheckpointPath},
		{CheckpointVolumeAnnotation, parseCheckpointVolume},
	} {
		value, ok := annotations[p.name]
		if !ok && p.name == MemoryAnnotation {
			if !needsMemory {
				continue
			}
			return Spec{}, fmt.Errorf("annotation %s is missing: it asks for GPU memory, such as \"8Gi\"", p.name)
		}
		if err := p.parse(strings.TrimSpace(value), &s); ok && err != nil {
			return Spec{}, fmt.Errorf("annotation %s: %q %w", p.name, value, err)
		} else if err != nil {
			return Spec{}, fmt.Errorf("annotation %s: %w", p.name, err)
		}
	}
	return s, nil
}

func parseMemory(value string, s *Spec) (err error) {
	s.Memory, err = ParseMemory(value)
	return err
}

func parseCount(value string, s *Spec) error {
	if value == "" {
		return nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > maxCount {
		return fmt.Errorf("is not a number of GPUs from 1 to %d", maxCount)
	}
	s.Count = n
	return nil
}

func parseCores(value string, s *Spec) error {
	if value == "" {
		return nil
	}
	n, err := strconv.Atoi(strings.TrimSuffix(value, "%"))
	if err != nil || n < 1 || n > 100 {
		return fmt.Errorf("is not per cent of a GPU's compute, 1 to 100")
	}
	s.Cores = n
	return nil
}

func parseMetric(value string, s *Spec) error {
	if value == "" {
		return nil
	}
	name, direction, _ := strings.Cut(value, ":")
	s.DirectionFrom = DirectionGiven
	switch direction {
	case "":
		s.Direction, s.DirectionFrom = defaultDirection(name)
	case "min":
		s.Direction = growth.Minimize
	case "max":
		s.Direction = growth.Maximize
	default:
		return fmt.Errorf("must end in :min or :max, as in \"loss:min\"")
	}
	if len(name) > maxMetric || !metricName.MatchString(name) {
		return fmt.Errorf("does not start with a metric's name, as in \"loss:min\" or \"accuracy:max\"")
	}
	s.Metric = name
	return nil
}

func parseProgress(value string, s *Spec) (err error) {
	kind, rest, _ := strings.Cut(value, ":")
	switch Source(kind) {
	case "", FromSocket:
		if rest != "" {
			return fmt.Errorf("takes nothing after \"socket\"")
		}
		s.Progress = Progress{Source: FromSocket}
	case FromLog:
		s.Progress = Progress{Source: FromLog}
		s.Progress.Pattern, err = parsePattern(rest)
	case FromFile:
		if !strings.HasPrefix(rest, "/") || strings.Contains(rest, "/../") || len(rest) > maxPath {
			return fmt.Errorf("needs an absolute path inside the container, as in \"file:/results/loss.log\"")
		}
		s.Progress = Progress{Source: FromFile, Path: rest}
	default:
		return fmt.Errorf("is none of \"socket\", \"log:<regexp>\", \"file:<path>\"")
	}
	return err
}

func parsePattern(expression string) (*regexp.Regexp, error) {
	if expression == "" || len(expression) > maxPattern {
		return nil, fmt.Errorf("needs a regular expression of at most %d bytes, as in \"log:loss=([0-9.]+)\"",
			maxPattern)
	}
	p, err := regexp.Compile(expression)
	if err != nil {
		return nil, fmt.Errorf("is not a regular expression: %w", err)
	}
	if p.NumSubexp() < 1 {
		return nil, fmt.Errorf("needs a group around the metric's value, as in \"log:loss=([0-9.]+)\"")
	}
	return p, nil
}

func parseTune(value string, s *Spec) error {
	switch value {
	case "":
		s.Tune = []Knob{TuneCPU, TuneLoaders, TuneGPUTime}
		return nil
	case TuneNone:
		s.Tune = nil
		return nil
	}
	for word := range strings.SplitSeq(value, ",") {
		knob := Knob(strings.TrimSpace(word))
		if !slices.Contains([]Knob{TuneCPU, TuneLoaders, TuneBatchSize, TuneGPUTime, TuneResources, TuneWorkers}, knob) {
			return fmt.Errorf("lists %q, which is none of cpu, loaders, batch-size, gpu-time, resources, workers, none", word)
		}
		if !slices.Contains(s.Tune, knob) {
			s.Tune = append(s.Tune, knob)
		}
	}
	return nil
}
