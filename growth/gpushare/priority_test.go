package gpushare_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/gpushare"
)

func TestParse_Priority(t *testing.T) {
	for value, want := range map[string]gpushare.Priority{
		"": 0, "1": 1, "0.1": .1, "10": 10, " 2.5 ": 2.5, "07": 7, ".5": .5, "3.": 3,
	} {
		s, err := gpushare.Parse(map[string]string{gpushare.MemoryAnnotation: "1", gpushare.PriorityAnnotation: value})
		require.NoError(t, err, value)
		require.Equal(t, want, s.Priority, value)
	}
	for _, value := range []string{"0", "0.09", "10.1", "11", "-1", "+1", "1e0", "0x1", "NaN", "Inf", "high", "100000", "1,5"} {
		_, err := gpushare.Parse(map[string]string{gpushare.MemoryAnnotation: "1", gpushare.PriorityAnnotation: value})
		require.ErrorContains(t, err, "is not a weight from 0.1 to 10", value)
	}
}

func TestClassPriority(t *testing.T) {
	for value, want := range map[int32]float64{
		0: 1, 1: 1, -1: 1, 1000: 2, -1000: .5, 1_000_000: 4, 1_000_000_000: 8, -1_000_000_000: .125,
	} {
		require.InDelta(t, want, float64(gpushare.ClassPriority(value)), 1e-12, value)
	}
	require.Equal(t, gpushare.Priority(1), gpushare.ClassPriority(0), "exactly: jobs without a class divide as before")
	for _, value := range []int32{math.MinInt32, math.MaxInt32} {
		p := float64(gpushare.ClassPriority(value))
		require.True(t, p >= 0.1 && p <= 10, p)
	}
}
