package demo

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
	"github.com/trellis-gpu/trellis/benchmarks/internal/timeline"
)

func TestAChangeThatAnEventAnnouncedIsNotToldTwice(t *testing.T) {
	at := time.Unix(100, 0)
	change := timeline.Change{At: at.Add(5 * time.Second), Job: "a", What: timeline.LoaderChange}
	var r rumours
	require.False(t, r.told(change), "nobody has said so")
	r.hear(cluster.Story{At: at, Object: "a", Reason: "LoadersChanged"})
	r.hear(cluster.Story{At: at, Object: "a", Reason: "FailedScheduling"})
	require.False(t, r.told(timeline.Change{At: at, Job: "a", What: timeline.CategoryChange}))
	require.True(t, r.told(change))
	require.False(t, r.told(change), "the next one is another")
	r.hear(cluster.Story{At: at.Add(-time.Minute), Object: "a", Reason: "LoadersChanged"})
	require.False(t, r.told(change), "too long ago")
}

func TestWhatIsWorthSaying(t *testing.T) {
	for name, tc := range map[string]struct {
		story cluster.Story
		text  string
	}{
		"a coordinator's own sentence": {cluster.Story{From: "trellis-coordinator", Reason: "LoadersChanged", Text: "1 →\n 2"}, "1 → 2"},
		"a warning of anybody's":       {cluster.Story{From: "kubelet", Reason: "Started", Text: "but badly", Warning: true}, "kubelet Started: but badly"},
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
