package gpushare

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/trellis-gpu/trellis/growth"
)

// Spec is what a pod's annotations ask for, validated.
type Spec struct {
	// ParseMemory is asked for on each of Count GPUs of one node.
	Memory growth.MiB
	Count  int
	// Cores is per cent of a GPU's compute, 0 for no wish.
	Cores int
	// Metric is the name of the evaluation function, Direction the way it improves.
	Metric    string
	Direction growth.Direction
	// Progress is where reports come from.
	Progress Progress
	// Tune lists what may change while the job runs.
	Tune []Knob
}

// Knob is something that Trellis may change on a running job.
type Knob string

// The knobs there are.
const (
	TuneCPU       Knob = "cpu"
	TuneLoaders   Knob = "loaders"
	TuneBatchSize Knob = "batch-size"
)

// Allows tells whether the user lets Trellis turn knob.
func (w Spec) Allows(knob Knob) bool { return slices.Contains(w.Tune, knob) }

// Source is a kind of progress report.
type Source string

// The sources there are.
const (
	FromSocket Source = "socket"
	FromLog    Source = "log"
	FromFile   Source = "file"
)

// Progress says where a job's progress is read from.
type Progress struct {
	Source Source
	// Pattern finds the metric in a line, as its first group, for FromLog.
	Pattern *regexp.Regexp
	// Path is the file inside the container, for FromFile.
	Path string
}

// Bounds on what a user may write.
const (
	maxMemory  growth.MiB = 1 << 20 // 1 TiB, several times the largest GPU
	maxCount              = 64
	maxPattern            = 512
	maxPath               = 512
	maxMetric             = 64
)

var metricName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

// RequestsShare tells whether the annotations ask for a share at all.
func RequestsShare(annotations map[string]string) bool {
	_, ok := annotations[MemoryAnnotation]
	return ok
}

// Unannotated tells whether the annotations wish for nothing. Such a pod may still ask for GPU memory by its containers' limits
// alone, as pods written for other sharers do: on one GPU, as much as the limits say.
func Unannotated(annotations map[string]string) bool {
	for _, wish := range []string{MemoryAnnotation, CountAnnotation, CoresAnnotation, MetricAnnotation, ProgressAnnotation, TuneAnnotation} {
		if _, ok := annotations[wish]; ok {
			return false
		}
	}
	return true
}

// Parse reads a pod's annotations. Its errors name the annotation, quote the value, and say what would be right:
// they reach the user as an event.
func Parse(annotations map[string]string) (Spec, error) {
	w := Spec{Count: 1, Metric: "loss", Direction: growth.Minimize}
	for _, p := range []struct {
		name  string
		parse func(string, *Spec) error
	}{
		{MemoryAnnotation, parseMemory},
		{CountAnnotation, parseCount},
		{CoresAnnotation, parseCores},
		{MetricAnnotation, parseMetric},
		{ProgressAnnotation, parseProgress},
		{TuneAnnotation, parseTune},
	} {
		value, ok := annotations[p.name]
		if !ok && p.name == MemoryAnnotation {
			return Spec{}, fmt.Errorf("annotation %s is missing: it asks for GPU memory, such as \"8Gi\"", p.name)
		}
		if err := p.parse(strings.TrimSpace(value), &w); ok && err != nil {
			return Spec{}, fmt.Errorf("annotation %s: %q %w", p.name, value, err)
		} else if err != nil {
			return Spec{}, fmt.Errorf("annotation %s: %w", p.name, err)
		}
	}
	return w, nil
}

func parseMemory(value string, w *Spec) (err error) {
	w.Memory, err = ParseMemory(value)
	return err
}

func parseCount(value string, w *Spec) error {
	if value == "" {
		return nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > maxCount {
		return fmt.Errorf("is not a number of GPUs from 1 to %d", maxCount)
	}
	w.Count = n
	return nil
}

func parseCores(value string, w *Spec) error {
	if value == "" {
		return nil
	}
	n, err := strconv.Atoi(strings.TrimSuffix(value, "%"))
	if err != nil || n < 1 || n > 100 {
		return fmt.Errorf("is not per cent of a GPU's compute, 1 to 100")
	}
	w.Cores = n
	return nil
}

func parseMetric(value string, w *Spec) error {
	if value == "" {
		return nil
	}
	name, direction, _ := strings.Cut(value, ":")
	switch direction {
	case "", "min":
		w.Direction = growth.Minimize
	case "max":
		w.Direction = growth.Maximize
	default:
		return fmt.Errorf("must end in :min or :max, as in \"loss:min\"")
	}
	if len(name) > maxMetric || !metricName.MatchString(name) {
		return fmt.Errorf("does not start with a metric's name, as in \"loss:min\" or \"accuracy:max\"")
	}
	w.Metric = name
	return nil
}

func parseProgress(value string, w *Spec) (err error) {
	kind, rest, _ := strings.Cut(value, ":")
	switch Source(kind) {
	case "", FromSocket:
		if rest != "" {
			return fmt.Errorf("takes nothing after \"socket\"")
		}
		w.Progress = Progress{Source: FromSocket}
	case FromLog:
		w.Progress = Progress{Source: FromLog}
		w.Progress.Pattern, err = parsePattern(rest)
	case FromFile:
		if !strings.HasPrefix(rest, "/") || strings.Contains(rest, "/../") || len(rest) > maxPath {
			return fmt.Errorf("needs an absolute path inside the container, as in \"file:/results/loss.log\"")
		}
		w.Progress = Progress{Source: FromFile, Path: rest}
	default:
		return fmt.Errorf("is none of \"socket\", \"log:<regexp>\", \"file:<path>\"")
	}
	return err
}

func parsePattern(expression string) (*regexp.Regexp, error) {
	if expression == "" || len(expression) > maxPattern {
		return nil, fmt.Errorf("needs a regular expression of at most %d bytes, as in \"log:loss=([0-9.]+)\"", maxPattern)
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

func parseTune(value string, w *Spec) error {
	switch value {
	case "":
		w.Tune = []Knob{TuneCPU, TuneLoaders}
		return nil
	case "none":
		w.Tune = nil
		return nil
	}
	for word := range strings.SplitSeq(value, ",") {
		knob := Knob(strings.TrimSpace(word))
		if knob != TuneCPU && knob != TuneLoaders && knob != TuneBatchSize {
			return fmt.Errorf("lists %q, which is none of cpu, loaders, batch-size, none", word)
		}
		if !slices.Contains(w.Tune, knob) {
			w.Tune = append(w.Tune, knob)
		}
	}
	return nil
}
