package gpushare_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/gpushare"
)

func TestSaved_IsParsedAsItIsWritten(t *testing.T) {
	hash := strings.Repeat("0f", 32)
	for _, saved := range []gpushare.Saved{
		{Request: "2026-05-01T12:00:00Z", Step: 1200, SHA256: hash, Path: "/checkpoints/a b.pt"},
		{Request: "r", Failed: "disk full: /checkpoints"},
	} {
		got, err := gpushare.ParseSaved(saved.String())
		require.NoError(t, err)
		require.Equal(t, saved, got)
	}
}

func FuzzParseSaved(f *testing.F) {
	for _, value := range []string{"", "r failed: x", "r step=1 sha256=" + strings.Repeat("0f", 32) + " path=/a", " failed: ", "r step=-1 sha256=a path=b"} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		saved, err := gpushare.ParseSaved(value)
		if err != nil {
			return
		}
		again, err := gpushare.ParseSaved(saved.String())
		require.NoError(t, err)
		require.Equal(t, saved, again)
	})
}
