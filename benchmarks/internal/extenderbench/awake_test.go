package extenderbench

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// open returns how often this process has the kernel's file open.
func open(t *testing.T) (times int) {
	descriptors, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, d := range descriptors {
		if to, err := os.Readlink(filepath.Join("/proc/self/fd", d.Name())); err == nil && to == latency {
			times++
		}
	}
	return times
}

// The setting lasts as long as the file is open. Only root may open it.
func TestAwake(t *testing.T) {
	sleep, err := awake()
	if err != nil {
		require.True(t, os.IsPermission(err) || os.IsNotExist(err), "%v", err)
		require.ErrorAs(t, err, new(*fs.PathError))
		t.Skipf("not permitted here: %v", err)
	}
	require.Equal(t, 1, open(t))
	sleep()
	require.Zero(t, open(t))
}
