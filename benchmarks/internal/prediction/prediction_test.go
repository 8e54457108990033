package prediction_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/prediction"
	"github.com/trellis-gpu/trellis/benchmarks/internal/qoredl"
	"github.com/trellis-gpu/trellis/growth"
)

// rows returns configurations under two allocations, with eight rows each. Times are proportional to the batch size, and
// differ by up to a quarter between configurations and by 2 % between rows.
func rows(configurations int) (all []qoredl.Iteration) {
	for n := range configurations {
		spread := func(k int) float64 { return math.Mod(float64(k)*0.754877666, 1)*2 - 1 }
		c := qoredl.Configuration{Batch: 100 + 37*n, Params: float64(1000 + n%7), FLOPs: float64(7000 + n%7)}
		for row := range 16 {
			a := qoredl.Allocation{CPU: 0.5 + 0.5*float64(row/8), Memory: 1}
			seconds := float64(c.Batch) / a.CPU * math.Exp(0.25*spread(n)+0.02*spread(100*n+row))
			all = append(all, qoredl.Iteration{Configuration: c, Allocation: a, Hundred: growth.Seconds(seconds)})
		}
	}
	return all
}

func TestEvaluate_PredictsEachRowOnce(t *testing.T) {
	all := rows(20)
	round, err := prediction.Evaluate(all, 1)
	require.NoError(t, err)
	require.Len(t, round.Cold, len(all))
	require.Len(t, round.Nearest, len(all))
	require.Len(t, round.Elsewhere, len(all))
	require.Len(t, round.Observed[1], 40*7)
	require.Len(t, round.Observed[5], 40*3)
}

func TestEvaluate_DependsOnTheSeedOnly(t *testing.T) {
	all := rows(20)
	first, err := prediction.Evaluate(all, 1)
	require.NoError(t, err)
	again, err := prediction.Evaluate(all, 1)
	require.NoError(t, err)
	require.Equal(t, first, again)
	other, err := prediction.Evaluate(all, 2)
	require.NoError(t, err)
	require.NotEqual(t, first, other)
}

// TestEvaluate_HidesTheConfiguration: if one configuration is slower by a factor that nothing explains, it is predicted
// without that factor.
func TestEvaluate_HidesTheConfiguration(t *testing.T) {
	all := rows(20)
	for n := range 16 {
		all[n].Hundred *= 50
	}
	round, err := prediction.Evaluate(all, 1)
	require.NoError(t, err)
	missed := 0
	for _, c := range round.Cold {
		if c.Predicted < c.True/10 {
			missed++
		}
	}
	require.Equal(t, 16, missed)
}

func TestEvaluate_NeedsConfigurations(t *testing.T) {
	_, err := prediction.Evaluate(rows(9), 1)
	require.ErrorContains(t, err, "9 configurations")
}

func TestGoals(t *testing.T) {
	all := rows(30)
	round, err := prediction.Evaluate(all, 1)
	require.NoError(t, err)
	judged := map[string]bool{}
	values := map[string]float64{}
	for _, g := range prediction.Goals(all, []prediction.Round{round}) {
		values[g.Name] = g.Value
		if g.Met != nil {
			judged[g.Name] = *g.Met
		}
	}
	require.True(t, judged["after 1 observation: mean error"])
	require.True(t, judged["after 5 observations: mean error"])
	require.Greater(t, values["cold: R²"], 0.5)
	require.Less(t, values["noise, the allocation's median: mean error"], 2.0)
	require.Less(t, values["after 5 observations: mean error"], values["cold: mean error"])
	require.Len(t, judged, 9)
	for name, value := range values {
		require.False(t, math.IsNaN(value), name)
		if strings.Contains(name, "%") {
			require.LessOrEqual(t, value, 100.0, name)
		}
	}
}

// One configuration takes 50 times longer than its features say. It has most of the variance, and R² is good without it.
func TestGoals_ShowWhatOneConfigurationDecides(t *testing.T) {
	all := rows(20)
	for n := range 16 {
		all[n].Hundred *= 50
	}
	round, err := prediction.Evaluate(all, 1)
	require.NoError(t, err)
	figures := map[string]float64{}
	for _, g := range prediction.Goals(all, []prediction.Round{round}) {
		figures[g.Name] = g.Value
	}
	require.Greater(t, figures["the configuration with most of the variance: part of it"], 50.0)
	require.Less(t, figures["cold: R²"], 0.5)
	require.Greater(t, figures["cold, without the configuration with most of the variance: R²"], 0.5)
	require.Contains(t, figures, "nearest configuration: R²")
}
