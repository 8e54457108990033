package extenderbench

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseTicks(t *testing.T) {
	for name, tc := range map[string]struct {
		stat string
		want ticks
	}{
		"all processors":       {"cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 1 1 1 1 1 1 1 1 1\n", ticks{1, 2, 3, 4, 5, 6, 7, 8}},
		"kernel without steal": {"cpu  1 2 3 4 5 6 7\n", ticks{}},
		"not a number":         {"cpu  1 2 3 x 5 6 7 8 9 10\n", ticks{}},
		"another line":         {"intr 1 2 3 4 5 6 7 8 9 10\n", ticks{}},
		"empty":                {"", ticks{}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, parseTicks(tc.stat)) })
	}
	require.NotZero(t, readTicks(), "this machine's own")
}

func TestTicks_StolenSince(t *testing.T) {
	before := ticks{100, 0, 50, 800, 10, 0, 5, 35}
	require.InDelta(t, 5, ticks{130, 0, 60, 850, 14, 0, 6, 40}.stolenSince(before), 1e-9)
	require.Zero(t, before.stolenSince(before), "no time has passed")
	require.Zero(t, ticks{}.stolenSince(before), "it could not be read again")
}
