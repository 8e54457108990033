package extenderbench

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// openFiles returns the number of descriptors of this process for latencyFile.
func openFiles(t *testing.T) (count int) {
	descriptors, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, d := range descriptors {
		if to, err := os.Readlink(filepath.Join("/proc/self/fd", d.Name())); err == nil && to == latencyFile {
			count++
		}
	}
	return count
}

// The setting lasts as long as the file is open. Only root may open it.
func TestKeepAwake(t *testing.T) {
	release, err := keepAwake()
	if err != nil {
		require.True(t, os.IsPermission(err) || os.IsNotExist(err), "%v", err)
		require.ErrorAs(t, err, new(*fs.PathError))
		t.Skipf("not permitted here: %v", err)
	}
	require.Equal(t, 1, openFiles(t))
	release()
	require.Zero(t, openFiles(t))
}
