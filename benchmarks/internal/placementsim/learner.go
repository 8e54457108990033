package placementsim

import "github.com/trellis-gpu/trellis/growth/interference"

// refit is the time between two models of the tuner, in seconds.
const refit = 60

// learner is the tuner: it learns the model from the measurements of the nodes. A nil learner learns nothing.
type learner struct {
	all *interference.Learner
	// first is the table of a policy that remembers.
	first table
	// model is what placement uses, nil before the first measurement. It was fitted at fitted; stale is set if there are
	// later measurements.
	model  *interference.Model
	fitted float64
	stale  bool
}

func newLearner(p Policy) *learner {
	if !p.Learns && !p.Remembers {
		return nil
	}
	return &learner{all: interference.NewLearner(interference.Prior()), first: table{}, fitted: -refit}
}

func (l *learner) observe(m interference.Measurement) {
	l.first.observe(m)
	if l.all.Observe(m) == nil {
		l.stale = true
	}
}

// at returns the model at a time.
func (l *learner) at(now float64) *interference.Model {
	if l == nil {
		return nil
	}
	if l.stale && now >= l.fitted+refit {
		l.model, l.fitted, l.stale = new(l.all.Model()), now, false
	}
	return l.model
}

// restarted returns the learner with its clock at 0.
func (l *learner) restarted() *learner {
	return &learner{all: l.all, first: l.first, fitted: -refit, stale: true}
}
