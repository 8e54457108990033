package deadline_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/deadline"
)

func TestStatus_Next(t *testing.T) {
	early := deadline.Degree{Low: -30, Likely: -20, High: -10}
	near := deadline.Degree{Low: -30, Likely: -10, High: 10}
	late := deadline.Degree{Low: 5, Likely: 10, High: 20}
	for name, tc := range map[string]struct {
		before   deadline.Status
		d, alone deadline.Degree
		want     deadline.Status
	}{
		"early":                           {deadline.Unknown, early, early, deadline.OnTime},
		"near the deadline":               {deadline.OnTime, near, early, deadline.OnTime},
		"late":                            {deadline.OnTime, late, early, deadline.AtRisk},
		"near the deadline after a risk":  {deadline.AtRisk, near, early, deadline.AtRisk},
		"early after a risk":              {deadline.AtRisk, early, early, deadline.OnTime},
		"late also alone":                 {deadline.AtRisk, late, late, deadline.Infeasible},
		"late, and alone perhaps in time": {deadline.OnTime, late, near, deadline.AtRisk},
		"feasible again":                  {deadline.Infeasible, early, early, deadline.OnTime},
		"met":                             {deadline.Met, late, late, deadline.Met},
		"missed":                          {deadline.Missed, early, early, deadline.Missed},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, tc.before.Next(tc.d, tc.alone)) })
	}
}

func TestDegree_Moved(t *testing.T) {
	at := func(likely growth.Seconds) deadline.Degree { return deadline.DegreeOf(deadline.Certain(likely), 0) }
	require.False(t, at(59).Moved(at(0)))
	require.True(t, at(60).Moved(at(0)))
	require.False(t, at(1200).Moved(at(1000)))
	require.True(t, at(1250).Moved(at(1000)))
	require.True(t, at(-60).Moved(at(0)))
}
