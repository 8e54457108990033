package interference

import "slices"

// Source is what a prediction is based on.
type Source string

// All sources, the best first.
const (
	// FromMeasurement: jobs of these kinds were measured together.
	FromMeasurement Source = "measured together"
	// FromKinds: some of the kinds were measured in other sets.
	FromKinds Source = "from other sets of these kinds"
	// FromPrior: none of the kinds was ever measured.
	FromPrior Source = "prior"
)

// Source returns what the prediction for a job next to others is based on.
func (m Model) Source(own Member, others []Member) Source {
	if m.learned == nil {
		return FromPrior
	}
	kinds := make([]Kind, len(others))
	known := m.Knows(own.Kind)
	for i, other := range others {
		kinds[i] = other.Kind
		known = known || m.Knows(other.Kind)
	}
	slices.Sort(kinds)
	if _, measured := m.learned.entries[setKey(own.Kind, kinds)]; measured {
		return FromMeasurement
	}
	if known {
		return FromKinds
	}
	return FromPrior
}

// Knows reports whether a kind was measured. To the model, all other kinds are alike.
func (m Model) Knows(k Kind) bool { return m.learned != nil && m.learned.kinds[k] != nil }
