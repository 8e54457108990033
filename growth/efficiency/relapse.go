package efficiency

// A relapse is a metric so much worse than its best value that the best value is no longer a reference: a warm restart
// of the learning rate (SGDR), a new phase of training, or another data set.
const (
	// relapseGained is the fraction of all improvement that a relapse loses at least.
	relapseGained = 0.2
	// relapseNoise is the minimum loss of a relapse, in units of the metric's usual noise.
	relapseNoise = 5
	// relapseSamples is the number of consecutive samples that make a relapse.
	relapseSamples = 2
	// noiseSmoothing is the weight of the newest sample in the usual noise.
	noiseSmoothing = 0.1
)

// updateRelapse counts consecutive samples that are much worse than the best value, and reports whether they make a
// relapse. worse is the sample's distance from the best value.
func (s *State) updateRelapse(worse float64) bool {
	if s.Gained > 0 && worse > relapseGained*s.Gained && worse > relapseNoise*s.Noise {
		s.RelapseStreak++
	} else {
		s.RelapseStreak = 0
	}
	if s.RelapseStreak < relapseSamples {
		return false
	}
	s.RelapseStreak = 0
	return true
}
