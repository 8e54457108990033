package demo

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
	"github.com/trellis-gpu/trellis/benchmarks/internal/timeline"
)

func TestDemo_PassesAlternateTheOrderOfPolicies(t *testing.T) {
	for name, tc := range map[string]struct {
		demo Demo
		want []pass
	}{
		"one run":         {Demo{Policy: "flowcon"}, []pass{{"flowcon", 1, false}}},
		"three runs":      {Demo{Policy: "flowcon", Rounds: 3}, []pass{{"flowcon", 1, false}, {"flowcon", 2, false}, {"flowcon", 3, false}}},
		"one comparison":  {Demo{Policy: "flowcon", Compare: true, Rounds: 1}, []pass{{"flowcon", 1, false}, {"fair", 1, true}}},
		"two comparisons": {Demo{Policy: "flowcon", Compare: true, Rounds: 2}, []pass{{"flowcon", 1, false}, {"fair", 1, true}, {"fair", 2, true}, {"flowcon", 2, false}}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, tc.demo.passes()) })
	}
}

func TestDemo_KeepGroupsPassesByRound(t *testing.T) {
	runs := make([]Run, 3)
	var d Demo
	d.keep(pass{"flowcon", 1, false}, &runs[0])
	d.keep(pass{"fair", 1, true}, &runs[1])
	d.keep(pass{"fair", 2, true}, &runs[2])
	line := func(i int) *timeline.Timeline { return &runs[i].line }
	require.Equal(t, []results.Round{{Run: line(0), Other: line(1)}, {Other: line(2)}}, d.rounds)
}
