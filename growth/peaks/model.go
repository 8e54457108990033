package peaks

// Model is what a job says about what it trains. 0 is unknown.
type Model struct {
	// BatchSize is the number of samples per step of a process.
	BatchSize int `json:"batchSize,omitempty"`
	// FLOPs are the floating-point operations for one sample, Params the parameters.
	FLOPs  float64 `json:"flops,omitempty"`
	Params float64 `json:"params,omitempty"`
}

// maxBatch and maxModel bound a Model.
const (
	maxBatch = 1 << 24
	maxModel = 1e24
)

// Valid returns the model without values that are out of bounds.
func (m Model) Valid() Model {
	if m.BatchSize < 0 || m.BatchSize > maxBatch {
		m.BatchSize = 0
	}
	for _, v := range []*float64{&m.FLOPs, &m.Params} {
		if !(*v >= 0 && *v <= maxModel) {
			*v = 0
		}
	}
	return m
}
