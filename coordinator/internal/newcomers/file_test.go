package newcomers

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/mpsthreads"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	file := New(dir, func() growth.Seconds { return 100 }, slog.New(slog.DiscardHandler))
	read := func() mpsthreads.Record {
		content, err := os.ReadFile(filepath.Join(dir, mpsthreads.FileName))
		require.NoError(t, err)
		record, err := mpsthreads.Decode(content, 101)
		require.NoError(t, err)
		return record
	}
	file.Write(map[growth.GPU]growth.Share{"GPU-b": .5, "GPU-a": .25})
	require.Equal(t, []mpsthreads.GPU{{UUID: "GPU-a", Share: .25}, {UUID: "GPU-b", Share: .5}}, read().GPUs)
	file.Write(map[growth.GPU]growth.Share{})
	require.Empty(t, read().GPUs)

	require.NoError(t, os.RemoveAll(dir))
	file.Write(nil) // is logged
	require.NoError(t, os.Mkdir(dir, 0o755))
	file.Write(map[growth.GPU]growth.Share{"GPU-a": .25})
	require.Len(t, read().GPUs, 1)
}
