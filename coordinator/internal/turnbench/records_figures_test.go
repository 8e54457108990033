package turnbench

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const ms = time.Millisecond

func TestReadSteps_LeavesOutAnIncompleteLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "steps")
	require.NoError(t, os.WriteFile(path, []byte("1 2 3 1\n4 5 6 2\n7 8"), 0o600))
	steps, err := readSteps(path)
	require.NoError(t, err)
	require.Equal(t, []step{{1, 2, 3}, {4, 5, 6}}, steps)
	require.NoError(t, os.WriteFile(path, []byte("1 2 x\n"), 0o600))
	_, err = readSteps(path)
	require.ErrorContains(t, err, "1 2 x")
}

// Two jobs: the first waits in step() from 20 to 50 ms, the second computes from 21 to 49 ms.
func TestRecords_Figures(t *testing.T) {
	first := []step{{0, 10 * ms, 10 * ms}, {10 * ms, 20 * ms, 50 * ms}, {52 * ms, 60 * ms, 60 * ms}}
	second := []step{{21 * ms, 35 * ms, 35 * ms}, {35 * ms, 49 * ms, 80 * ms}}
	all := window{0, 100 * ms}
	require.Equal(t, 28*ms, held(first, all))
	require.Equal(t, 14*ms, held(second, window{30 * ms, 44 * ms}))
	require.Equal(t, 2, counted(first, window{15 * ms, 60 * ms}))
	require.Equal(t, 1, pauses(first))
	require.Equal(t, 40*ms, longestWait(first, all))
	require.Equal(t, 51*ms, longestWait(second, all), "no step ended in the rest of the window")
	require.Equal(t, []time.Duration{ms, ms}, gaps([][]step{first, second}, all))
	require.Equal(t, 3*ms, quantile([]time.Duration{5 * ms, 3 * ms, ms}, .5))
	require.Equal(t, time.Duration(0), quantile(nil, .99))
}
