package node

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// The annotation is written at once, then at most every minute, and only for changes of 5 points or more.
func TestAnnotateGPUShare_IsRateLimited(t *testing.T) {
	type round struct {
		after time.Duration
		share growth.Share
	}
	for name, tc := range map[string]struct {
		before string
		rounds []round
		want   []string
	}{
		"the first share":                   {"", []round{{0, .5}, {10 * time.Second, .5}}, []string{"50%"}},
		"a change within a minute":          {"", []round{{0, .5}, {30 * time.Second, .9}, {60 * time.Second, .8}}, []string{"50%", "80%"}},
		"small changes":                     {"", []round{{0, .5}, {2 * time.Minute, .54}, {4 * time.Minute, .55}}, []string{"50%", "55%"}},
		"written by an earlier coordinator": {"50%", []round{{0, .52}}, nil},
		"since then it has changed":         {"50%", []round{{0, .62}}, []string{"62%"}},
		"an invalid value":                  {"a half", []round{{0, .5}}, []string{"50%"}},
		"more than everything":              {"101%", []round{{0, 1}}, []string{"100%"}},
	} {
		t.Run(name, func(t *testing.T) {
			n := &Node{}
			j := &job{pod: Pod{Annotations: map[string]string{gpushare.GPUShareAnnotation: tc.before}}}
			for _, r := range tc.rounds {
				n.now = time.Unix(1000, 0).Add(r.after)
				n.annotateGPUShare(j, r.share)
			}
			var got []string
			for _, a := range n.out.Annotations {
				got = append(got, fmt.Sprint(a.Value))
			}
			require.Equal(t, tc.want, got)
		})
	}
}

// A paused job is in no group of jobs that share GPUs.
func TestAnnotateGPUShares_APausedJobHasNone(t *testing.T) {
	for name, tc := range map[string]struct {
		level pauseLevel
		want  []Annotation
	}{
		"it waits":             {stopped, []Annotation{{Name: gpushare.GPUShareAnnotation, Value: "0%"}}},
		"it goes on":           {running, nil},
		"it cannot be stopped": {withoutCPU, nil},
	} {
		t.Run(name, func(t *testing.T) {
			n := &Node{now: time.Unix(1000, 0), computes: true}
			j := &job{pause: pause{level: tc.level}, pod: Pod{Annotations: map[string]string{gpushare.GPUShareAnnotation: "62%"}}}
			n.jobs = map[growth.PodUID]*job{"": j}
			n.annotateGPUShares()
			require.Equal(t, tc.want, n.out.Annotations)
		})
	}
}
