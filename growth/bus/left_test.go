package bus_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// The reader's clock shows noon. A job has 600 core-seconds left, uses two cores at most, and ends in half an hour by its node's clock.
func TestSample_LeftDependsOnNoClock(t *testing.T) {
	const year = 366 * 24 * 3600
	for name, tc := range map[string]struct {
		clock     time.Duration // of the node, against the reader's
		published *growth.Seconds
		want      growth.Seconds
	}{
		"the same time":                               {0, new(growth.Seconds(1800)), 1800},
		"an hour ahead":                               {time.Hour, new(growth.Seconds(1800)), 1800},
		"an hour behind":                              {-time.Hour, new(growth.Seconds(1800)), 1800},
		"a false time":                                {0, new(growth.Seconds(1e200)), year},
		"a negative time":                             {0, new(growth.Seconds(-1e200)), 0},
		"an earlier release":                          {0, nil, 1800},
		"an earlier release, an hour ahead":           {time.Hour, nil, 5400},
		"an earlier release, an hour behind":          {-time.Hour, nil, 300},
		"an earlier release, two hundred years ahead": {200 * 365 * 24 * time.Hour, nil, year},
	} {
		t.Run(name, func(t *testing.T) {
			work := remaining.Exact(600)
			work.Unit = growth.CoreSecond
			s := bus.Sample{Usable: 2 * growth.Core, ETA: &bus.ETA{
				ETA:       gpushare.ETA{Likely: noon.Add(tc.clock + 30*time.Minute)},
				Left:      tc.published,
				Remaining: work,
			}}
			left, known := s.Left(noon)
			require.True(t, known)
			require.Equal(t, tc.want, left)
		})
	}
	_, known := bus.Sample{}.Left(noon)
	require.False(t, known)
}

// The deadline of a job's user is a time. A node says how far it is by its own clock.
func TestDeadline_LeftDependsOnNoClockOfTheReader(t *testing.T) {
	for name, tc := range map[string]struct {
		reader    time.Duration // its clock, against the node's
		published *growth.Seconds
		want      growth.Seconds
	}{
		"the same time":               {0, new(growth.Seconds(1800)), 1800},
		"an hour ahead":               {time.Hour, new(growth.Seconds(1800)), 1800},
		"an hour behind":              {-time.Hour, new(growth.Seconds(1800)), 1800},
		"a deadline that has passed":  {0, new(growth.Seconds(-60)), -60},
		"an earlier release":          {0, nil, 1800},
		"an earlier release, too far": {-200 * 365 * 24 * time.Hour, nil, 366 * 24 * 3600},
	} {
		t.Run(name, func(t *testing.T) {
			d := bus.Deadline{At: noon.Add(30 * time.Minute), Left: tc.published}
			require.Equal(t, tc.want, d.LeftAt(noon.Add(tc.reader)))
		})
	}
}
