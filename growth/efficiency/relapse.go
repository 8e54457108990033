package efficiency

// When a metric is so much worse than its best that the best is no measure any more: a learning rate that is warmed up
// again (SGDR), another phase of training, another data set. Against the old best such a job would not grow, however
// fast it learns, until it has caught up.
const (
	// relapseGained is the part of all that was gained that must be lost again,
	relapseGained = 0.2
	// relapseNoise how many times the metric's usual noise that must be,
	relapseNoise = 5
	// relapseSamples and for how many samples in a row.
	relapseSamples = 2
	// noiseSmoothing is the weight of the newest sample in what noise is usual.
	noiseSmoothing = 0.1
)

// relapsed notes by how much a sample is worse than the best, and tells whether to measure anew.
func (m *State) updateRelapse(worse float64) bool {
	if m.Gained > 0 && worse > relapseGained*m.Gained && worse > relapseNoise*m.Noise {
		m.RelapseStreak++
	} else {
		m.RelapseStreak = 0
	}
	if m.RelapseStreak < relapseSamples {
		return false
	}
	m.RelapseStreak = 0
	return true
}
