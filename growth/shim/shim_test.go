package shim_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/shim"
	"github.com/trellis-gpu/trellis/growth/wire"
)

func TestSource_ReturnsACopyOfTheFile(t *testing.T) {
	file, err := os.ReadFile(shim.FileName)
	require.NoError(t, err)
	require.Equal(t, string(file), string(shim.Source()))

	shim.Source()[0] = '#'
	require.Equal(t, string(file), string(shim.Source()), "each caller has its own copy")
}

// The Python tests compare the shim's lines with testdata; this test decodes the same lines as the coordinator does.
func TestTestdata_IsDecodedByTheCoordinator(t *testing.T) {
	for name, of := range map[string]wire.Message{
		"progress":        wire.Progress{},
		"describe":        wire.Describe{},
		"ack":             wire.Ack{},
		"saved":           wire.Saved{},
		"config":          wire.Config{},
		"config-previous": wire.Config{},
		"duty":            wire.Duty{},
		"save":            wire.Save{},
	} {
		t.Run(name, func(t *testing.T) {
			lines, err := os.ReadFile(filepath.Join("testdata", name+".jsonl"))
			require.NoError(t, err)
			for line := range bytes.Lines(lines) {
				message, err := wire.Decode(line)
				require.NoError(t, err, "%s", line)
				require.IsType(t, of, message)
			}
		})
	}
}

func TestTestdata_OfTheTurnSocketIsDecodedByTheCoordinator(t *testing.T) {
	for line := range bytes.Lines(testdata(t, "gate.jsonl")) {
		_, err := wire.DecodeGate(line)
		require.NoError(t, err, "%s", line)
	}
	for line := range bytes.Lines(testdata(t, "turn.jsonl")) {
		_, err := wire.DecodeTurn(line)
		require.NoError(t, err, "%s", line)
	}
	for line := range bytes.Lines(testdata(t, "turn-ignored.jsonl")) {
		_, err := wire.DecodeTurn(line)
		require.Error(t, err, "%s", line)
	}
}

func testdata(t *testing.T, name string) []byte {
	t.Helper()
	lines, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	require.NotEmpty(t, lines)
	return lines
}

// TestPython runs the Python tests of the shim, which use real sockets.
func TestPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("SKIPPED: the shim was not tested, there is no python3 on PATH")
	}
	readInputs(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, python, "-m", "unittest", "discover", "-s", "tests")
	command.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	output, err := command.CombinedOutput()
	t.Logf("%s", output)
	require.NoError(t, err, "the shim's Python tests failed, see above")
}

// readInputs reads the files that the Python tests depend on. The Go test cache only knows of files that this process
// reads.
func readInputs(t *testing.T) {
	t.Helper()
	for _, pattern := range []string{"*.py", "tests/*.py", "testdata/*"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files, pattern)
		for _, file := range files {
			_, err := os.ReadFile(file)
			require.NoError(t, err)
		}
	}
}
