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
		{Request: "r", Step: 1200, SHA256: hash, Path: "s3://bucket/a b.pt"},
		{Request: "r", Failed: "disk full: /checkpoints"},
	} {
		got, err := gpushare.ParseSaved(saved.String())
		require.NoError(t, err)
		require.Equal(t, saved, got)
	}
}

func TestSaved_BeforeMoveIsNoAnswer(t *testing.T) {
	saved := gpushare.Saved{Request: "0198-1", Step: 7, SHA256: strings.Repeat("0f", 32), Path: "/a"}
	require.False(t, saved.IsBeforeMove())
	before := saved.BeforeMove("0198-1")
	require.True(t, before.IsBeforeMove())
	require.Equal(t, "0198-1", before.Move())
	require.Empty(t, saved.Move())
	require.Error(t, gpushare.CheckSave(before.Request), "no user can ask for it")
	got, err := gpushare.ParseSaved(before.String())
	require.NoError(t, err)
	require.Equal(t, before, got)
}

func TestParseSaved_NeedsAPathOrAURL(t *testing.T) {
	for _, path := range []string{"", "job.pt", "s3:/bucket/job.pt", "file:///checkpoints/job.pt"} {
		_, err := gpushare.ParseSaved("r step=1 sha256=" + strings.Repeat("0f", 32) + " path=" + path)
		require.ErrorContains(t, err, "does not describe a checkpoint", "%q", path)
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
