package storm_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/storm"
)

func TestParseGauge_WholeName(t *testing.T) {
	const metrics = "# TYPE over gauge\nover_all 7\nover 1.5e+03\n"
	value, found := storm.ParseGauge(strings.NewReader(metrics), "over")
	require.True(t, found)
	require.Equal(t, 1500.0, value)
	_, found = storm.ParseGauge(strings.NewReader(metrics), "ov")
	require.False(t, found)
}
