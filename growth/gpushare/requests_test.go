package gpushare_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/gpushare"
)

func TestParse_Checkpoint(t *testing.T) {
	for value, want := range map[string]gpushare.Checkpoint{
		"":                            {},
		"socket":                      {Method: gpushare.CheckpointSocket},
		" none ":                      {Method: gpushare.CheckpointNone},
		"signal:SIGUSR1,/ckpt/job.pt": {Method: gpushare.CheckpointSignal, Signal: "SIGUSR1", Path: "/ckpt/job.pt"},
		"signal:SIGUSR2,/a":           {Method: gpushare.CheckpointSignal, Signal: "SIGUSR2", Path: "/a"},
	} {
		s, err := gpushare.Parse(map[string]string{gpushare.MemoryAnnotation: "1", gpushare.CheckpointAnnotation: value})
		require.NoError(t, err, value)
		require.Equal(t, want, s.Checkpoint, value)
	}
	for _, value := range []string{
		"sockets", "none:", "signal", "signal:SIGUSR1", "signal:SIGKILL,/a", "signal:SIGUSR1,a", "signal:SIGUSR1,/a/../b",
		"signal:SIGUSR1,/a/..", "signal:SIGUSR1,/", "signal:SIGUSR1,/" + strings.Repeat("x", 512),
	} {
		_, err := gpushare.Parse(map[string]string{gpushare.MemoryAnnotation: "1", gpushare.CheckpointAnnotation: value})
		require.ErrorContains(t, err, gpushare.CheckpointAnnotation, value)
	}
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
