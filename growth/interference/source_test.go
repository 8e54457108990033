package interference_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/interference"
)

func TestModel_Source(t *testing.T) {
	a, b, c := interference.KindOf("n", "a"), interference.KindOf("n", "b"), interference.KindOf("n", "c")
	of := func(kinds ...interference.Kind) (members []interference.Member) {
		for _, k := range kinds {
			members = append(members, interference.Member{Kind: k, Speed: 0.7})
		}
		return members
	}
	learner := interference.NewLearner(interference.Prior())
	require.NoError(t, learner.Observe(interference.Measurement{Set: of(a, b), Seconds: 60}))
	require.NoError(t, learner.Observe(interference.Measurement{Set: of(a, b, b), Seconds: 60}))
	learned := learner.Model()
	for name, tc := range map[string]struct {
		model  interference.Model
		own    interference.Kind
		others []interference.Kind
		want   interference.Source
	}{
		"a pair":              {learned, a, []interference.Kind{b}, interference.FromMeasurement},
		"the other direction": {learned, b, []interference.Kind{a}, interference.FromMeasurement},
		"a triple, any order": {learned, b, []interference.Kind{b, a}, interference.FromMeasurement},
		"another triple":      {learned, a, []interference.Kind{a, b}, interference.FromKinds},
		"one unknown kind":    {learned, c, []interference.Kind{b}, interference.FromKinds},
		"unknown kinds":       {learned, c, []interference.Kind{""}, interference.FromPrior},
		"nothing measured":    {interference.Prior(), a, []interference.Kind{b}, interference.FromPrior},
	} {
		require.Equal(t, tc.want, tc.model.Source(of(tc.own)[0], of(tc.others...)), name)
	}
	require.True(t, learned.Knows(a))
	require.False(t, learned.Knows(c))
	require.False(t, interference.Prior().Knows(a))
}
