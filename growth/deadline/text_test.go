package deadline_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/deadline"
)

func TestRough(t *testing.T) {
	for s, want := range map[growth.Seconds]string{
		0: "0 s", 119: "119 s", -840: "14 min", 10_000: "167 min", 20_000: "5.6 h", 864_000: "10.0 days",
	} {
		require.Equal(t, want, deadline.Rough(s))
	}
}

func TestDegree_Text(t *testing.T) {
	late := deadline.Degree{Low: 540, Likely: 840, High: 1320}
	require.Equal(t, "14 min (80 %: 9 min to 22 min)", late.By())
	require.Equal(t, "14 min late (80 %: 9 min late to 22 min late)", late.String())
	unsure := deadline.Degree{Low: -300, Likely: 60, High: 600}
	require.Equal(t, "60 s (80 %: 5 min early to 10 min)", unsure.By())
	require.Equal(t, "60 s late (80 %: 5 min early to 10 min late)", unsure.String())
}
