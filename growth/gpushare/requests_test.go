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
	for _, invalid := range []string{"disk", "signal", "signal:", "signal:SIGKILL", "signal:sigusr1", "signal:SIGUSR1:", "signal:SIGUSR1:a/b", "signal:SIGUSR1:a-name-that-is-too-long"} {
		_, err := gpushare.Parse(map[string]string{gpushare.MemoryAnnotation: "1", gpushare.CheckpointAnnotation: invalid})
		require.ErrorContains(t, err, `annotation gpushare/checkpoint: "`+invalid+`" is none of "socket", "signal:SIGUSR1"`)
	}
}

func TestParse_CheckpointBySignal(t *testing.T) {
	parse := func(checkpoint, path string) (gpushare.Spec, error) {
		annotations := map[string]string{gpushare.MemoryAnnotation: "1", gpushare.CheckpointAnnotation: checkpoint}
		if path != "" {
			annotations[gpushare.CheckpointPathAnnotation] = path
		}
		return gpushare.Parse(annotations)
	}
	for checkpoint, want := range map[string]gpushare.SaveSignal{
		"signal:SIGUSR1":         {Name: "SIGUSR1", Path: "/ckpt/a.pt"},
		"signal:SIGUSR2":         {Name: "SIGUSR2", Path: "/ckpt/a.pt"},
		"signal:SIGUSR1:python3": {Name: "SIGUSR1", Process: "python3", Path: "/ckpt/a.pt"},
	} {
		s, err := parse(checkpoint, " /ckpt/a.pt ")
		require.NoError(t, err, checkpoint)
		require.Equal(t, gpushare.CheckpointSignal, s.Checkpoint)
		require.Equal(t, want, s.Signal)
	}
	_, err := parse("signal:SIGUSR1", "")
	require.ErrorContains(t, err, "annotation gpushare/checkpoint-path: is missing: it names the file that the job writes on SIGUSR1")
	_, err = parse("socket", "/ckpt/a.pt")
	require.ErrorContains(t, err, "is for jobs with gpushare/checkpoint: signal:SIGUSR1")
	_, err = parse("signal:SIGUSR2", "s3://bucket/a.pt")
	require.ErrorContains(t, err, "is a URL, and Trellis must see the file that the job writes on SIGUSR2: mount the bucket as a volume")
	for _, invalid := range []string{
		"a.pt", "/", "/ckpt/", "//a.pt", "/ckpt/../a.pt", "/ckpt/..", "/./a.pt", "/ckpt/.", "/a\nb", "/" + strings.Repeat("x", 512),
	} {
		_, err := parse("signal:SIGUSR1", invalid)
		require.ErrorContains(t, err, "needs the absolute path of a file", invalid)
	}
	for _, valid := range []string{"/a", "/ckpt/.hidden", "/ckpt/..a", "/ckpt/a b/größe.pt"} {
		_, err := parse("signal:SIGUSR1", valid)
		require.NoError(t, err, valid)
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
