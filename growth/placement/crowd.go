package placement

import (
	"slices"

	"github.com/trellis-gpu/trellis/growth/interference"
)

// typicalJobs is a number of jobs that few GPUs exceed. Up to it, a score allocates no memory.
const typicalJobs = 16

// crowd is the jobs of a GPU with a new one, whose slowdowns are predicted. The last member is the new job.
type crowd struct{ members []interference.Member }

// newCrowd appends the jobs to room.
func newCrowd(room []interference.Member, g GPU, job Newcomer) crowd {
	for _, r := range g.Residents {
		room = append(room, r.member())
	}
	return crowd{append(room, job.member())}
}

func (r Resident) member() interference.Member {
	return interference.Member{Kind: r.Kind, Activity: r.Activity}
}

// member leaves the activity unknown: the new job is expected to be as active as other jobs of its kind.
func (n Newcomer) member() interference.Member { return interference.Member{Kind: n.Kind} }

// newcomer predicts the slowdown of the new job.
func (c crowd) newcomer(m *interference.Model) interference.Prediction {
	last := len(c.members) - 1
	return predict(m, c.members[last], c.members[:last])
}

// resident predicts the slowdown of a resident before the new job is there, and after.
func (c crowd) resident(m *interference.Model, i int) (before, after interference.Prediction) {
	last := len(c.members) - 1
	// The order of other jobs has no meaning, so the resident changes places with the one before the new job.
	c.members[i], c.members[last-1] = c.members[last-1], c.members[i]
	own, job := c.members[last-1], c.members[last]
	before = predict(m, own, c.members[:last-1])
	c.members[last-1] = job
	after = predict(m, own, c.members[:last])
	c.members[last-1] = own
	c.members[i], c.members[last-1] = c.members[last-1], c.members[i]
	return before, after
}

// source returns what the prediction for a member next to all others is based on.
func (c crowd) source(m *interference.Model, i int) interference.Source {
	others := slices.Delete(slices.Clone(c.members), i, i+1)
	return m.Source(c.members[i], others)
}

// predict predicts a slowdown by the model, or by the prior if there is none.
func predict(m *interference.Model, own interference.Member, others []interference.Member) interference.Prediction {
	if m == nil {
		return interference.Prior().Predict(own, others)
	}
	return m.Predict(own, others)
}
