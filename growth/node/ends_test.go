package node

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/deadline"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/policy"
	"github.com/trellis-gpu/trellis/growth/remaining"
	"github.com/trellis-gpu/trellis/growth/wire"
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

// No share is decided for a job whose CPU is not tuned, so its work goes on as in the last interval.
func TestEstimateUntuned(t *testing.T) {
	const work = 1000 // core-seconds
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		used    growth.MilliCPU
		change  func(j *job)
		seconds time.Duration // until its end; 0: unknown
	}{
		"half a core":                    {used: 500, seconds: 2000},
		"two cores":                      {used: 2000, seconds: 500},
		"an idle job":                    {used: 0},
		"a paused job":                   {used: 500, change: func(j *job) { j.pause.level = stopped }},
		"no work left, by its own count": {used: 500, change: func(j *job) { j.providedRemaining = &remaining.Estimate{Known: true} }},
		"unknown work":                   {used: 500, change: func(j *job) { j.providedRemaining = &remaining.Estimate{} }},
		"a tuned job":                    {used: 500, change: func(j *job) { j.spec.Tune, j.pod.Fixed = []gpushare.Knob{gpushare.TuneCPU}, "" }},
		"an ended pod":                   {used: 500, change: func(j *job) { j.pod.Containers[0].Ended = true }},
	} {
		t.Run(name, func(t *testing.T) {
			left := remaining.Exact(work)
			j := &job{used: tc.used, providedRemaining: &left, providedToTarget: &left}
			j.pod = Pod{Ref: growth.PodRef{UID: "a"}, Running: true, Fixed: "its QoS class is Guaranteed", Containers: []Container{{Name: "train", Request: 500}}}
			if tc.change != nil {
				tc.change(j)
			}
			n := &Node{now: start, jobs: map[growth.PodUID]*job{"a": j}}
			n.estimateUntuned()
			if tc.seconds == 0 {
				require.Nil(t, j.eta)
				return
			}
			require.Equal(t, start.Add(tc.seconds*time.Second), j.eta.Likely)
		})
	}
}

// The result of a job with a target is there when the target is reached, if that is expected before the end.
func TestDeadlineStatus_HasTheWorkToATarget(t *testing.T) {
	toTarget := remaining.Exact(400)
	for name, tc := range map[string]struct {
		target string
		left   growth.Work
		want   *remaining.Estimate
	}{
		"a target before the end": {"loss<=0.1", 1000, &toTarget},
		"a target after the end":  {"loss<=0.1", 300, nil},
		"no target":               {"", 1000, nil},
	} {
		t.Run(name, func(t *testing.T) {
			annotations := map[string]string{gpushare.MemoryAnnotation: "1", gpushare.DeadlineAnnotation: "10m"}
			if tc.target != "" {
				annotations[gpushare.TargetAnnotation] = tc.target
			}
			spec, err := gpushare.Parse(annotations)
			require.NoError(t, err)
			left := remaining.Exact(tc.left)
			j := &job{spec: spec, providedRemaining: &left, providedToTarget: &toTarget}
			j.pod.Created = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
			j.late.by, j.late.status = &deadline.Degree{}, deadline.AtRisk
			require.Equal(t, tc.want, (&Node{now: j.pod.Created}).deadlineStatus(j).ToTarget)
		})
	}
}

// What such a job would make of more CPU is not known, so that its deadline is never infeasible.
func TestEstimateUntuned_ForecastsDeadlines(t *testing.T) {
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		deadline string
		want     deadline.Status
		late     growth.Seconds
	}{
		"late":    {"10m", deadline.AtRisk, 2000 - 600},
		"in time": {"1h", deadline.OnTime, 2000 - 3600},
	} {
		t.Run(name, func(t *testing.T) {
			spec, err := gpushare.Parse(map[string]string{gpushare.MemoryAnnotation: "1", gpushare.DeadlineAnnotation: tc.deadline, gpushare.TuneAnnotation: "none"})
			require.NoError(t, err)
			left := remaining.Exact(1000)
			j := &job{spec: spec, used: 500, providedRemaining: &left, providedToTarget: &left, eventTimes: map[string]time.Time{}}
			j.pod = Pod{Ref: growth.PodRef{UID: "a"}, Running: true, Created: start, Containers: []Container{{Name: "train", Request: 500}}}
			n := &Node{now: start, jobs: map[growth.PodUID]*job{"a": j}}
			n.config.Policy = policy.Harmless
			n.estimateUntuned()
			require.Equal(t, tc.want, n.deadlineStatus(j).Status)
			require.Equal(t, tc.late, j.late.by.Likely)
			n.now = start.Add(2 * minRisk)
			n.estimateUntuned()
			if tc.want == deadline.AtRisk {
				require.Len(t, n.out.Events, 1)
				require.Contains(t, n.out.Events[0].Message, "No job can give way for it, because its CPU is not tuned: its user does not list cpu")
			} else {
				require.Empty(t, n.out.Events)
			}
		})
	}
}

// The total is of the whole job, the last step of its epoch.
func TestEndDeadline_CountsTheStepsOfAllEpochs(t *testing.T) {
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		epochs int64
		events int
	}{
		"all of them": {10, 1},
		"cut short":   {5, 0},
	} {
		t.Run(name, func(t *testing.T) {
			spec, err := gpushare.Parse(map[string]string{gpushare.MemoryAnnotation: "1", gpushare.DeadlineAnnotation: "1h"})
			require.NoError(t, err)
			j := &job{spec: spec, pod: Pod{Created: start}, eventTimes: map[string]time.Time{}}
			for epoch := range tc.epochs {
				for _, step := range []int64{1, 100} {
					j.latest = wire.Progress{Epoch: epoch, Step: step, TotalSteps: 1000}
					j.counter.add(j.latest)
				}
			}
			require.Equal(t, 100*tc.epochs, j.stepsDone())
			n := &Node{now: start.Add(time.Minute)}
			j.lifetime.ended = n.now
			n.endDeadline(j)
			require.Len(t, n.out.Events, tc.events)
		})
	}
}
