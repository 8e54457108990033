package gpushare_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/gpushare"
)

func TestParse_Checkpoint(t *testing.T) {
	for value, want := range map[string]gpushare.Checkpoint{
		"":       gpushare.CheckpointSocket,
		"socket": gpushare.CheckpointSocket,
		" none ": gpushare.CheckpointNone,
	} {
		s, err := gpushare.Parse(map[string]string{gpushare.MemoryAnnotation: "1", gpushare.CheckpointAnnotation: value})
		require.NoError(t, err, value)
		require.Equal(t, want, s.Checkpoint, value)
	}
	_, err := gpushare.Parse(map[string]string{gpushare.MemoryAnnotation: "1", gpushare.CheckpointAnnotation: "disk"})
	require.ErrorContains(t, err, `annotation gpushare/checkpoint: "disk" is neither "socket" nor "none"`)
}

func TestParsePaused(t *testing.T) {
	for value, want := range map[string]bool{"true": true, " true ": true, "false": false, "": false} {
		paused, err := gpushare.ParsePaused(value)
		require.NoError(t, err, value)
		require.Equal(t, want, paused, value)
	}
	for _, value := range []string{"yes", "True", "1"} {
		_, err := gpushare.ParsePaused(value)
		require.ErrorContains(t, err, `is neither "true" nor "false"`, value)
	}
}

func TestCheckSave(t *testing.T) {
	for _, value := range []string{"", "2026-05-01T12:00:00Z", "2026-05-01T12:00:00.5+02:00", "before-upgrade"} {
		require.NoError(t, gpushare.CheckSave(value), value)
	}
	for _, value := range []string{"-x", "a b", "now\n", strings.Repeat("x", 65)} {
		require.ErrorContains(t, gpushare.CheckSave(value), "does not identify a request", value)
	}
}
