package gpushare_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/gpushare"
)

func TestETA_RoundTrip(t *testing.T) {
	likely := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	e := gpushare.ETA{Likely: likely, Low: likely.Add(-time.Minute), High: likely.Add(2 * time.Hour)}
	require.Equal(t, "2026-05-01T12:00:00Z 2026-05-01T11:59:00Z/2026-05-01T14:00:00Z", e.String())
	parsed, ok := gpushare.ParseETA(e.String())
	require.True(t, ok)
	require.Equal(t, e, parsed)
}

func TestParseETA_Invalid(t *testing.T) {
	for name, text := range map[string]string{
		"empty":       "",
		"unknown":     gpushare.UnknownETA,
		"no interval": "2026-05-01T12:00:00Z",
		"no high":     "2026-05-01T12:00:00Z 2026-05-01T11:59:00Z/",
		"reversed":    "2026-05-01T12:00:00Z 2026-05-01T14:00:00Z/2026-05-01T11:59:00Z",
		"trailing":    "2026-05-01T12:00:00Z 2026-05-01T11:59:00Z/2026-05-01T14:00:00Z ago",
	} {
		t.Run(name, func(t *testing.T) {
			_, ok := gpushare.ParseETA(text)
			require.False(t, ok)
		})
	}
}
