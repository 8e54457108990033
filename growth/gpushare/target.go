package gpushare

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/trellis-gpu/trellis/growth"
)

// Target is the value of a job's metric at which its user is satisfied: "loss<=0.05". The zero value is no target.
type Target struct {
	Metric string
	// Direction is growth.Minimize for a target that the metric must not exceed, growth.Maximize for one that it must
	// attain, and 0 for no target.
	Direction growth.Direction
	Value     float64
}

// Declared reports whether the user has set a target.
func (t Target) Declared() bool { return t.Direction != 0 }

// String returns the target as a user writes it.
func (t Target) String() string {
	if !t.Declared() {
		return ""
	}
	return t.Metric + operator(t.Direction) + strconv.FormatFloat(t.Value, 'g', -1, 64)
}

func operator(d growth.Direction) string {
	if d == growth.Maximize {
		return ">="
	}
	return "<="
}

// maxTarget bounds the length of a target, and so, with the two digits of the exponent, its value.
const maxTarget = 128

// targetPattern has groups for the metric, the operator and the value.
var targetPattern = regexp.MustCompile(
	`^([A-Za-z_][A-Za-z0-9_./@-]*) *(<=|>=) *([+-]?(?:[0-9]+[.]?[0-9]*|[.][0-9]+)(?:[eE][+-]?[0-9]{1,2})?)$`)

// parseTarget parses a target of the metric that parseMetric has read. It decides the direction of a
// metric whose direction is only assumed.
func parseTarget(value string, s *Spec) error {
	if value == "" {
		return nil
	}
	parts := targetPattern.FindStringSubmatch(value)
	if parts == nil || len(value) > maxTarget {
		return fmt.Errorf("is not a metric, <= or >=, and a number, as in \"loss<=0.05\" or \"accuracy>=0.95\"")
	}
	t := Target{Metric: parts[1], Direction: growth.Minimize}
	if parts[2] == ">=" {
		t.Direction = growth.Maximize
	}
	if t.Metric != s.Metric {
		return fmt.Errorf("names another metric than %s, which is %q", MetricAnnotation, s.Metric)
	}
	if s.DirectionFrom != DirectionAssumed && t.Direction != s.Direction {
		return fmt.Errorf("is a bound on the wrong side: the metric is \"%s:%s\", so write %s", s.Metric, s.Direction, operator(s.Direction))
	}
	var err error
	if t.Value, err = strconv.ParseFloat(parts[3], 64); err != nil {
		return fmt.Errorf("has no number that can be represented: %w", err)
	}
	s.Target = t
	s.Direction, s.DirectionFrom = t.Direction, DirectionGiven
	return nil
}
