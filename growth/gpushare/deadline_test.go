package gpushare_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/gpushare"
)

func withDeadline(value string) map[string]string {
	return map[string]string{gpushare.MemoryAnnotation: "1", gpushare.DeadlineAnnotation: value}
}

func TestParse_Deadline(t *testing.T) {
	at := time.Date(2026, 5, 1, 18, 0, 0, 0, time.UTC)
	for value, want := range map[string]gpushare.Deadline{
		"":                          {},
		"6h":                        {After: 6 * time.Hour},
		"90m":                       {After: 90 * time.Minute},
		" 1h30m5s ":                 {After: 90*time.Minute + 5*time.Second},
		"0.5h":                      {After: 30 * time.Minute},
		"1s":                        {After: time.Second},
		"8760h":                     {After: 8760 * time.Hour},
		"2026-05-01T18:00:00Z":      {At: at},
		"2026-05-01T20:00:00+02:00": {At: at},
		"2026-05-01T18:00:00.25Z":   {At: at.Add(time.Second / 4)},
	} {
		s, err := gpushare.Parse(withDeadline(value))
		require.NoError(t, err, value)
		require.Equal(t, want, s.Deadline, value)
		require.Equal(t, value != "", s.Deadline.Declared())
	}
	for value, want := range map[string]string{
		"soon":                  "is neither a duration after the pod's creation",
		"6":                     "is neither a duration",
		"-6h":                   "is neither a duration",
		"30m6h":                 "is neither a duration",
		"2d":                    "is neither a duration",
		"5ms":                   "is neither a duration",
		"1e3h":                  "is neither a duration",
		"9999999h":              "is neither a duration",
		"0s":                    "is not between 0 and 8760h",
		"8761h":                 "is not between 0 and 8760h",
		"999999h999999m999999s": "is not between 0 and 8760h",
		"2026-05-01":            "nor a time with its zone",
		"2026-05-01T18:00:00":   "nor a time with its zone",
		"2026-02-30T18:00:00Z":  "is not a time that exists",
		"2026-05-01T25:00:00Z":  "is not a time that exists",
		"1970-01-01T00:00:00Z":  "nor a time with its zone",
	} {
		_, err := gpushare.Parse(withDeadline(value))
		require.ErrorContains(t, err, want, value)
	}
}

func TestDeadline_Time(t *testing.T) {
	created := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	at := created.Add(-time.Hour)
	require.Equal(t, created.Add(6*time.Hour), gpushare.Deadline{After: 6 * time.Hour}.Time(created))
	require.Zero(t, gpushare.Deadline{After: 6 * time.Hour}.Time(time.Time{}), "the creation is unknown")
	require.Equal(t, at, gpushare.Deadline{At: at}.Time(created))
	require.Zero(t, gpushare.Deadline{}.Time(created))
}

func FuzzParse_Deadline(f *testing.F) {
	for _, value := range []string{"6h", "1h30m", "2026-05-01T18:00:00Z", "999999h999999m", "0s", "2026-02-30T18:00:00+99:99"} {
		f.Add(value)
	}
	created := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, value string) {
		s, err := gpushare.Parse(withDeadline(value))
		if err != nil {
			require.Zero(t, s)
			return
		}
		d := s.Deadline
		require.False(t, d.After != 0 && !d.At.IsZero())
		require.True(t, d.After >= 0 && d.After <= 8760*time.Hour)
		require.Equal(t, d.Declared(), !d.Time(created).IsZero())
	})
}
