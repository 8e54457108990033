package extenderbench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMeter(t *testing.T) {
	busy, err := launch(t.TempDir(), "/bin/sh", "-c", "while :; do :; done")
	require.NoError(t, err)
	defer busy.stop()
	idle, err := launch(t.TempDir(), "/bin/sleep", "60")
	require.NoError(t, err)
	defer idle.stop()
	spent := meter(map[string]*process{"busy": busy, "idle": idle})
	require.Eventually(t, func() bool { return spent(10)["busy"] >= 5 }, time.Minute, 10*time.Millisecond, "50 ms, for ten pods")
	require.Less(t, spent(10)["idle"], 5.0)
}
