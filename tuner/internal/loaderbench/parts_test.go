package loaderbench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/wire"
)

func TestAllocations_UseTheBudget(t *testing.T) {
	require.Equal(t, [][]int{{0, 2}, {1, 1}, {2, 0}}, allocations(2, 2))
	require.Len(t, allocations(3, 6), 28)
}

func TestRate_IsThatBetweenTwoReports(t *testing.T) {
	at := func(ms int, samples int64) report {
		return report{time.UnixMilli(int64(ms)), wire.Progress{Samples: samples}}
	}
	require.InDelta(t, 40, rate([]report{at(0, 99), at(200, 8), at(400, 8)}), 1e-9)
	require.Zero(t, rate([]report{at(0, 99)}))
}

func TestInterval_IsThatOfTheMean(t *testing.T) {
	b := &bench{t: t}
	got := b.interval("figure", "%", []float64{1, 2, 3, 4})
	require.InDelta(t, 2.5, got.Value, 1e-9)
	require.InDelta(t, 2.5-2.09*0.6455, got.Low, 1e-3)
}

func TestPercentile(t *testing.T) {
	values := []float64{30, 10, 20, 40}
	require.Equal(t, []float64{10, 10, 20, 40}, []float64{percentile(values, 0), percentile(values, 25), percentile(values, 50), percentile(values, 100)})
	require.Equal(t, 10., percentile(values, 5))
}
