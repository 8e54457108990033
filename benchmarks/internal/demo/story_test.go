package demo

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
	"github.com/trellis-gpu/trellis/benchmarks/internal/timeline"
)

func TestAnnouncements_OncePerEvent(t *testing.T) {
	at := time.Unix(100, 0)
	change := timeline.Change{At: at.Add(5 * time.Second), Job: "a", What: timeline.LoaderChange}
	var r announcements
	require.False(t, r.announced(change), "no event has announced it")
	r.add(cluster.Story{At: at, Object: "a", Reason: "LoadersChanged"})
	r.add(cluster.Story{At: at, Object: "a", Reason: "FailedScheduling"})
	require.False(t, r.announced(timeline.Change{At: at, Job: "a", What: timeline.CategoryChange}))
	require.True(t, r.announced(change))
	require.False(t, r.announced(change), "the next one is another")
	r.add(cluster.Story{At: at.Add(-time.Minute), Object: "a", Reason: "LoadersChanged"})
	require.False(t, r.announced(change), "too long ago")
}

func TestWorthSaying_FiltersRoutineEvents(t *testing.T) {
	for name, tc := range map[string]struct {
		story cluster.Story
		text  string
	}{
		"a coordinator's own sentence": {cluster.Story{From: "trellis-coordinator", Reason: "LoadersChanged", Text: "1 →\n 2"}, "1 → 2"},
		"a warning of any component":   {cluster.Story{From: "kubelet", Reason: "Started", Text: "but badly", Warning: true}, "kubelet Started: but badly"},
		"the usual":                    {cluster.Story{From: "kubelet", Reason: "Started"}, ""},
		"a share":                      {cluster.Story{From: "trellis-coordinator", Reason: "CPUShareChanged"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.text == "" {
				require.False(t, worthSaying(tc.story))
				return
			}
			require.True(t, worthSaying(tc.story))
			require.Equal(t, tc.text, said(tc.story).Text)
		})
	}
}
