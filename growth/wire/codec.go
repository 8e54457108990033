package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

var (
	// ErrUnknownType is for a line of a type this version does not know; the reader skips the line.
	ErrUnknownType = errors.New("unknown type")
	// ErrMalformed means that a line is not a valid message: not JSON, too long, of another version, or out of range.
	ErrMalformed = errors.New("malformed line")
)

type envelope struct {
	Version int    `json:"v"`
	Type    string `json:"type"`
}

// Encode returns a message as one line with its newline.
func Encode(message Message) ([]byte, error) {
	body, err := json.Marshal(message)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", message.kind(), err)
	}
	head := fmt.Appendf(nil, `{"v":%d,"type":%q`, Version, message.kind())
	if len(body) > len("{}") {
		head = append(head, ',')
	}
	line := append(append(head, body[1:]...), '\n')
	if len(line) > MaxLine {
		return nil, fmt.Errorf("encoding %s: %d bytes, a line has at most %d", message.kind(), len(line), MaxLine)
	}
	return line, nil
}

// Decode decodes and validates one line. Its error is ErrMalformed with the reason, or ErrUnknownType for a message of
// a newer protocol.
func Decode(line []byte) (Message, error) {
	line = bytes.TrimSpace(line)
	if len(line) > MaxLine || !utf8.Valid(line) {
		return nil, fmt.Errorf("%w: longer than %d bytes or not UTF-8", ErrMalformed, MaxLine)
	}
	var head envelope
	if err := json.Unmarshal(line, &head); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if head.Version != Version {
		return nil, fmt.Errorf("%w: version %d, this side speaks %d", ErrMalformed, head.Version, Version)
	}
	switch head.Type {
	case "progress":
		return decode(line, Progress.check)
	case "describe":
		return decode(line, Describe.check)
	case "ack":
		return decode(line, Ack.check)
	case "saved":
		return decode(line, Saved.check)
	case "config":
		return decode(line, Config.check)
	case "duty":
		return decode(line, Duty.check)
	case "save":
		return decode(line, Save.check)
	case "failed":
		return decode(line, Failed.check)
	case "stop":
		return decode(line, Stop.check)
	case "stopped":
		return decode(line, Stopped.check)
	}
	return nil, fmt.Errorf("%w %.40q", ErrUnknownType, head.Type)
}

func decode[M Message](line []byte, check func(M) error) (Message, error) {
	var m M
	if err := json.Unmarshal(line, &m); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return checked(m, check)
}

func checked[M Message](m M, check func(M) error) (Message, error) {
	if err := check(m); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrMalformed, m.kind(), err)
	}
	return m, nil
}

// Bounds of values. They are far above the values of any real job, and keep arithmetic finite.
const (
	maxCount      = 1 << 53
	maxLoaders    = 64
	maxBatch      = 1 << 24
	maxSeconds    = 7 * 24 * 3600
	maxMagnitude  = 1e300
	maxModel      = 1e24
	maxNameLength = 64
	maxPathLength = 4096
	maxReason     = 512
)

var sha256Hex = regexp.MustCompile(`^[0-9a-f]{64}$`)

func (p Progress) check() error {
	for _, n := range []int64{p.Step, p.Epoch, p.TotalSteps, p.Steps, p.Samples} {
		if n < 0 || n > maxCount {
			return fmt.Errorf("count %d out of range", n)
		}
	}
	for _, s := range []growth.Seconds{p.StepSeconds, p.LoadSeconds} {
		if s < 0 || s > maxSeconds {
			return fmt.Errorf("%g seconds out of range", float64(s))
		}
	}
	if len(p.Metrics) > MaxMetrics {
		return fmt.Errorf("%d metrics, at most %d", len(p.Metrics), MaxMetrics)
	}
	for _, m := range p.Metrics {
		if m.Name == "" || len(m.Name) > maxNameLength || (math.Abs(m.Value) > maxMagnitude && !math.IsInf(m.Value, 0)) {
			return fmt.Errorf("metric %.64q out of range", m.Name)
		}
	}
	if err := p.Process.check(); err != nil {
		return err
	}
	if err := p.checkBatch(); err != nil {
		return err
	}
	return Values{Loaders: p.Loaders, BatchSize: p.BatchSize}.check()
}

func (d Describe) check() error {
	for _, x := range []float64{d.FLOPs, d.Params} {
		if x < 0 || x > maxModel {
			return fmt.Errorf("%g operations or parameters out of range", x)
		}
	}
	if err := d.Process.check(); err != nil {
		return err
	}
	return Values{BatchSize: d.BatchSize}.check()
}

func (v Values) check() error {
	if v.Loaders != nil && (*v.Loaders < 0 || *v.Loaders > maxLoaders) {
		return fmt.Errorf("%d loaders, 0 to %d", *v.Loaders, maxLoaders)
	}
	if v.BatchSize != nil && (*v.BatchSize < 1 || *v.BatchSize > maxBatch) {
		return fmt.Errorf("batch size %d, 1 to %d", *v.BatchSize, maxBatch)
	}
	return nil
}

func (a Ack) check() error {
	if a.Generation < 0 || a.Generation > maxCount {
		return fmt.Errorf("generation %d out of range", a.Generation)
	}
	if err := a.Process.check(); err != nil {
		return err
	}
	return a.Applied.check()
}

func (s Saved) check() error {
	switch {
	case s.Step < 0 || s.Step > maxCount:
		return fmt.Errorf("step %d out of range", s.Step)
	case s.Request < 0 || s.Request > maxCount:
		return fmt.Errorf("request %d out of range", s.Request)
	case !sha256Hex.MatchString(s.SHA256):
		return errors.New("sha256 is not 64 hexadecimal digits")
	case len(s.Path) > maxPathLength || strings.ContainsRune(s.Path, 0) || !path.IsAbs(s.Path) && !gpushare.IsURL(s.Path):
		return errors.New("path is neither an absolute path nor a URL")
	}
	return s.Process.check()
}

func (c Config) check() error {
	if c.Generation < 0 || c.Generation > maxCount {
		return fmt.Errorf("generation %d out of range", c.Generation)
	}
	return c.Values.check()
}

func (d Duty) check() error {
	if d.Sequence < 0 || d.Sequence > maxCount {
		return fmt.Errorf("sequence %d out of range", d.Sequence)
	}
	if !(d.Duty > 0 && d.Duty <= 1) {
		return fmt.Errorf("duty %g: it must be more than 0 and at most 1", float64(d.Duty))
	}
	return nil
}

func (s Save) check() error {
	if s.DeadlineSeconds < 0 || s.DeadlineSeconds > maxSeconds {
		return fmt.Errorf("deadline of %g seconds out of range", float64(s.DeadlineSeconds))
	}
	if s.Request < 0 || s.Request > maxCount {
		return fmt.Errorf("request %d out of range", s.Request)
	}
	return nil
}

func (f Failed) check() error {
	if f.Request < 0 || f.Request > maxCount {
		return fmt.Errorf("request %d out of range", f.Request)
	}
	if len(f.Reason) > maxReason {
		return fmt.Errorf("a reason of %d bytes, at most %d", len(f.Reason), maxReason)
	}
	return f.Process.check()
}

func (s Stop) check() error {
	for _, n := range []int64{s.Sequence, s.AfterStep} {
		if n < 0 || n > maxCount {
			return fmt.Errorf("count %d out of range", n)
		}
	}
	if !s.Stop && s.AfterStep > 0 {
		return errors.New("a stop that lets the job continue has no after_step")
	}
	return nil
}

func (s Stopped) check() error {
	for _, n := range []int64{s.Sequence, s.Step} {
		if n < 0 || n > maxCount {
			return fmt.Errorf("count %d out of range", n)
		}
	}
	return s.Process.check()
}
