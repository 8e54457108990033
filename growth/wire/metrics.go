package wire

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"
)

// Metrics are the values of a job's metrics, each name once. JSON has no number that is not finite: on the wire, such a
// value is one of the strings "nan", "inf" and "-inf".
//
// Metrics are a slice and not a map, because a node receives hundreds of reports a second with one or two metrics each.
type Metrics []Metric

// Metric is the value of one metric.
type Metric struct {
	Name  string
	Value float64
}

// Get returns the value of a metric, and whether the report has it.
func (m Metrics) Get(name string) (float64, bool) {
	for _, metric := range m {
		if metric.Name == name {
			return metric.Value, true
		}
	}
	return 0, false
}

// Set sets the value of a metric.
func (m *Metrics) Set(name string, value float64) {
	for i := range *m {
		if (*m)[i].Name == name {
			(*m)[i].Value = value
			return
		}
	}
	*m = append(*m, Metric{name, value})
}

// Names returns the names in alphabetical order.
func (m Metrics) Names() []string {
	names := make([]string, len(m))
	for i, metric := range m {
		names[i] = metric.Name
	}
	slices.Sort(names)
	return names
}

// MarshalJSON encodes values that are not finite as strings.
func (m Metrics) MarshalJSON() ([]byte, error) {
	encoded := make(map[string]any, len(m))
	for _, metric := range m {
		switch {
		case math.IsNaN(metric.Value):
			encoded[metric.Name] = "nan"
		case math.IsInf(metric.Value, 1):
			encoded[metric.Name] = "inf"
		case math.IsInf(metric.Value, -1):
			encoded[metric.Name] = "-inf"
		default:
			encoded[metric.Name] = metric.Value
		}
	}
	return json.Marshal(encoded)
}

// UnmarshalJSON sets the values of a JSON object, in the order of their names.
func (m *Metrics) UnmarshalJSON(raw []byte) error {
	var values map[string]metric
	if err := json.Unmarshal(raw, &values); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		m.Set(name, float64(values[name]))
	}
	return nil
}

// metric is one value: a number, or a string for a value that is not finite.
type metric float64

func (m *metric) UnmarshalJSON(raw []byte) error {
	if len(raw) == 0 || raw[0] != '"' {
		return json.Unmarshal(raw, (*float64)(m))
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return err
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || !math.IsNaN(value) && !math.IsInf(value, 0) {
		return errors.New("the value of a metric is a string; it must be a number, or nan, inf or -inf")
	}
	*m = metric(value)
	return nil
}
