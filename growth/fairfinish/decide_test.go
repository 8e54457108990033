package fairfinish_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

func TestShortestFirst(t *testing.T) {
	c := fairfinish.Config{Objective: fairfinish.Finish, Floor: .1, Interval: 10 * time.Second, Cores: growth.Core}
	jobs := []fairfinish.Job{
		{ID: "a", Left: remaining.Exactly(100), Need: remaining.Exactly(50)},
		{ID: "b", Left: remaining.Exactly(50), Need: remaining.Exactly(25)},
		{ID: "c"},
	}
	_, d := fairfinish.Decide(c, fairfinish.State{}, time.Unix(0, 0), jobs)
	t.Log(d)
	require.InDelta(t, 1.0/3, float64(d.Grants[2].Share), 1e-9, "unknown: fair")
	require.Greater(t, d.Grants[1].Share, growth.Share(0.6))
}
