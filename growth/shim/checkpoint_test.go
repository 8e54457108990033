package shim_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/shim"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// The Python tests read the same file.
func TestCheckpoint_IsWrittenAsTheShimReadsIt(t *testing.T) {
	content, err := shim.Checkpoint{
		Version: wire.Version,
		Path:    "/checkpoints/job.pt",
		Step:    1200,
		SHA256:  strings.Repeat("0f", 32),
	}.Encode()
	require.NoError(t, err)
	require.Equal(t, string(testdata(t, "checkpoint.json")), string(content))
}
