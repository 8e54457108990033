package api

import (
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/interference"
)

// Interference is what the tuner has learned about jobs that share GPUs.
type Interference struct {
	Synced bool `json:"synced"`
	// Error is set if the bus is unavailable, or if the model on it is not usable.
	Error string `json:"error,omitempty"`
	// Observations is the number of measured slowdowns so far.
	Observations int64              `json:"observations"`
	Kinds        []InterferenceKind `json:"kinds"`
	Pairs        []InterferencePair `json:"pairs"`
	// Prediction answers ?own=…&others=….
	Prediction *Slowdown `json:"prediction,omitempty"`
}

// InterferenceKind is a kind of job. Jobs are the running ones, as namespace/name. Sensitivity and Pressure are factors:
// how much more than its activity explains a job is slowed down, and slows others down. Their deviations are relative.
type InterferenceKind struct {
	Kind                 interference.Kind `json:"kind"`
	Jobs                 []string          `json:"jobs"`
	Activity             growth.Share      `json:"activity"`
	Sensitivity          float64           `json:"sensitivity"`
	SensitivityDeviation float64           `json:"sensitivityDeviation"`
	Pressure             float64           `json:"pressure"`
	PressureDeviation    float64           `json:"pressureDeviation"`
}

// InterferencePair is a job next to others. Observations is the number of measurements behind Measured.
type InterferencePair struct {
	Own          interference.Kind   `json:"own"`
	Others       []interference.Kind `json:"others"`
	Measured     growth.Slowdown     `json:"measured"`
	Observations float64             `json:"observations"`
	Predicted    Slowdown            `json:"predicted"`
}

// Slowdown is a predicted slowdown. 80 % of such slowdowns are between Low and High.
type Slowdown struct {
	Mean      growth.Slowdown `json:"mean"`
	Deviation growth.Slowdown `json:"deviation"`
	Low       growth.Slowdown `json:"low"`
	High      growth.Slowdown `json:"high"`
}
