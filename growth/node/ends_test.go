package node

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// The annotation is written at once, then at most every minute, and only for noticeable changes.
func TestAnnotateETA_IsRateLimited(t *testing.T) {
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	end := func(after time.Duration) *bus.ETA {
		at := start.Add(after)
		return &bus.ETA{ETA: gpushare.ETA{Likely: at, Low: at, High: at}}
	}
	type round struct {
		after time.Duration
		eta   *bus.ETA
	}
	hour, minute := time.Hour, time.Minute
	for name, tc := range map[string]struct {
		before string
		rounds []round
		want   []string
	}{
		"never known":              {"", []round{{0, nil}, {hour, nil}}, nil},
		"the first estimate":       {"", []round{{0, end(hour)}, {minute, end(hour)}}, []string{end(hour).String()}},
		"a change within a minute": {"", []round{{0, end(hour)}, {minute / 2, end(2 * hour)}}, []string{end(hour).String()}},
		"a change":                 {"", []round{{0, end(hour)}, {minute, end(2 * hour)}}, []string{end(hour).String(), end(2 * hour).String()}},
		"a small change":           {"", []round{{0, end(hour)}, {minute, end(hour + 5*minute)}}, []string{end(hour).String()}},
		"no longer known":          {"", []round{{0, end(hour)}, {minute, nil}, {2 * minute, nil}}, []string{end(hour).String(), "unknown"}},
		"an earlier coordinator":   {end(hour).String(), []round{{0, end(hour + 5*minute)}}, nil},
		"an invalid value":         {"soon", []round{{0, end(hour)}}, []string{end(hour).String()}},
	} {
		t.Run(name, func(t *testing.T) {
			n := &Node{}
			j := &job{pod: Pod{Annotations: map[string]string{gpushare.ETAAnnotation: tc.before}}}
			for _, r := range tc.rounds {
				n.now, j.eta = start.Add(r.after), r.eta
				n.annotateETA(j)
			}
			var got []string
			for _, a := range n.out.Annotations {
				got = append(got, a.Value)
			}
			require.Equal(t, tc.want, got)
		})
	}
}

// The seconds that are left are those at the time of the sample, also between two estimates.
func TestPublishedETA_HasTheSecondsThatAreLeft(t *testing.T) {
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	n, j := &Node{now: start}, &job{}
	require.Nil(t, n.publishedETA(j))
	j.eta = &bus.ETA{ETA: gpushare.ETA{Likely: start.Add(time.Hour)}}
	require.Equal(t, growth.Seconds(3600), *n.publishedETA(j).Left)
	n.now = start.Add(20 * time.Second)
	require.Equal(t, growth.Seconds(3580), *n.publishedETA(j).Left)
	require.Nil(t, j.eta.Left)
}
