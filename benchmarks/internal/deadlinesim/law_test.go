package deadlinesim

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFit_FindsTheLaw(t *testing.T) {
	for name, law := range map[string]Law{
		"all of it computes":   {Compute: 2, Usable: 1.5},
		"half of it is serial": {Serial: 1, Compute: 1, Usable: 1.5},
		"saturates":            {Serial: 0.5, Compute: 1, Usable: 0.8},
	} {
		t.Run(name, func(t *testing.T) {
			var levels []level
			for _, cpu := range []float64{0.5, 0.6, 0.8, 1, 1.2, 1.5} {
				levels = append(levels, level{cpu, law.Time(cpu)})
			}
			found := fit(levels)
			for _, l := range levels {
				require.InDelta(t, l.seconds, found.Time(l.cpu), 1e-6)
			}
			require.InDelta(t, law.Usable, found.Usable, 1e-9)
		})
	}
}

func TestFit_MoreCPUDoesNotHelp(t *testing.T) {
	law := fit([]level{{0.5, 1}, {0.7, 1.01}, {1, 1.02}, {1.2, 1.04}})
	require.InDelta(t, 1.02, law.Time(0.5), 0.05)
	require.InDelta(t, law.Time(0.5), law.Time(2), 0.05)
}
