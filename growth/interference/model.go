package interference

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/trellis-gpu/trellis/growth"
)

// Model predicts slowdowns. A model without measurements (Prior) predicts from activity alone; Learner.Model returns one
// with measurements. The zero value predicts, with certainty, that jobs do not slow one another down. A Model does not
// change; it is safe for concurrent use.
type Model struct {
	// Contention is the mean of the contention c before any measurement (see the package comment), Deviation its standard
	// deviation; both are ≥ 0.
	Contention, Deviation growth.Slowdown

	learned *fit // nil without measurements
}

// Prior returns the model before any measurement.
func Prior() Model { return Model{Contention: 0.31, Deviation: 0.15} }

// Slowdown predicts the slowdown of a job with activity own on a GPU shared with jobs whose activities sum to others.
// It ignores measurements.
func (m Model) Slowdown(own, others growth.Share) Prediction {
	overlap := growth.Slowdown(max(0, own) * max(0, others))
	p := Prediction{Mean: 1 + m.Contention*overlap, Deviation: m.Deviation * overlap}
	p.Low = max(1, p.Mean-growth.Slowdown(quantile90)*p.Deviation)
	p.High = p.Mean + growth.Slowdown(quantile90)*p.Deviation
	return p
}

// Predict predicts the slowdown of a job that shares a GPU with others. Their order has no meaning. A member needs no
// Speed. A member without Activity has that of its kind, or is always active if its kind is unknown.
func (m Model) Predict(own Member, others []Member) Prediction {
	if m.learned != nil && len(others) > 0 {
		return m.learned.predict(own, others).slowdown()
	}
	var active growth.Share
	for _, other := range others {
		active += growth.Share(other.active(1))
	}
	return m.Slowdown(growth.Share(own.active(1)), active)
}

// active returns the activity, or usual if it is unknown.
func (m Member) active(usual float64) float64 {
	if m.Activity > 0 && m.Activity <= 1 {
		return float64(m.Activity)
	}
	return usual
}

// minActivity is the least known activity. It bounds logarithms of activities.
const minActivity = 0.02

// quantile90 is the 90 % quantile of the standard normal distribution. 80 % of all values lie between it and its
// negative.
var quantile90 = distuv.UnitNormal.Quantile(0.9)

// Prediction is a predicted slowdown.
type Prediction struct {
	// Mean is the expected slowdown, ≥ 1, Deviation its standard deviation.
	Mean, Deviation growth.Slowdown
	// Low and High are the bounds of the interval that contains 80 % of such slowdowns.
	Low, High growth.Slowdown
}

// PredictionOf returns the slowdown of a job whose speed, relative to computing alone, is known with a standard deviation. A job that was
// seen to do nothing next to others has the largest slowdown that is predicted.
func PredictionOf(speed, deviation float64) Prediction {
	const slowest = 1.0 / (1 + maxExcess)
	mean := 1 / max(speed, slowest)
	return Prediction{
		Mean:      growth.Slowdown(mean),
		Deviation: growth.Slowdown(min(deviation*mean*mean, maxExcess)),
		Low:       growth.Slowdown(1 / max(min(1, speed+quantile90*deviation), slowest)),
		High:      growth.Slowdown(1 / max(speed-quantile90*deviation, slowest)),
	}
}

// Cautious returns the mean plus one standard deviation.
func (p Prediction) Cautious() growth.Slowdown { return p.Mean + p.Deviation }

// normal is a normal distribution of the logarithm of an excess: the excess of a slowdown is the slowdown minus one. common is the part of
// the variance that all pairs of the same job have in common: of the contention of the cluster and of the job's sensitivity.
type normal struct{ mean, variance, common float64 }

// maxSpread bounds the variance of a prediction, whose expected value grows exponentially with it.
const maxSpread = 1

// slowdown returns the distribution of the slowdown.
func (n normal) slowdown() Prediction {
	variance := min(n.variance, maxSpread)
	mean := min(math.Exp(n.mean+variance/2), maxExcess)
	deviation := math.Sqrt(variance)
	return Prediction{
		Mean:      growth.Slowdown(1 + mean),
		Deviation: growth.Slowdown(mean * math.Sqrt(math.Expm1(variance))),
		Low:       growth.Slowdown(1 + min(math.Exp(n.mean-quantile90*deviation), maxExcess)),
		High:      growth.Slowdown(1 + min(math.Exp(n.mean+quantile90*deviation), maxExcess)),
	}
}

// given returns the distribution after a measurement.
func (n normal) given(e entry) normal {
	value, variance := e.logarithm(n.mean)
	gain := n.variance / (n.variance + variance)
	return normal{mean: n.mean + gain*(value-n.mean), variance: n.variance * (1 - gain), common: n.common * square(1-gain)}
}
