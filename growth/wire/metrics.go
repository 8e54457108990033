package wire

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
)

// Metrics are the values of a job's metrics. JSON has no number that is not finite: on the wire, such a value is one of
// the strings "nan", "inf" and "-inf".
type Metrics map[string]float64

// MarshalJSON encodes values that are not finite as strings.
func (m Metrics) MarshalJSON() ([]byte, error) {
	encoded := make(map[string]any, len(m))
	for name, value := range m {
		switch {
		case math.IsNaN(value):
			encoded[name] = "nan"
		case math.IsInf(value, 1):
			encoded[name] = "inf"
		case math.IsInf(value, -1):
			encoded[name] = "-inf"
		default:
			encoded[name] = value
		}
	}
	return json.Marshal(encoded)
}

// UnmarshalJSON adds the values of a JSON object.
func (m *Metrics) UnmarshalJSON(raw []byte) error {
	var values map[string]metric
	if err := json.Unmarshal(raw, &values); err != nil {
		return err
	}
	if *m == nil && values != nil {
		*m = make(Metrics, len(values))
	}
	for name, value := range values {
		(*m)[name] = float64(value)
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
