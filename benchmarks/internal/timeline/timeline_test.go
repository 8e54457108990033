package timeline_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/timeline"
	"github.com/trellis-gpu/trellis/growth"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func two() *int  { n := 2; return &n }
func four() *int { n := 4; return &n }

func at(second int, jobs ...timeline.Job) timeline.Reading {
	return timeline.Reading{At: start.Add(time.Duration(second) * time.Second), Jobs: jobs}
}

func TestTimeline_AddReturnsChanges(t *testing.T) {
	running := timeline.Job{Name: "a", Kind: "vae", State: timeline.Running, Sampled: true, Request: 150}
	with := func(change func(*timeline.Job)) timeline.Job { j := running; change(&j); return j }
	for name, tc := range map[string]struct {
		was, is timeline.Job
		want    []timeline.Change
	}{
		"nothing":             {running, running, nil},
		"progress alone":      {running, with(func(j *timeline.Job) { j.Step = 9; j.Growth = 0.5 }), nil},
		"the first category":  {running, with(func(j *timeline.Job) { j.Category = growth.Progressing }), nil},
		"the first GPU share": {running, with(func(j *timeline.Job) { j.GPUShare = new(growth.Share(.25)) }), nil},
		"another GPU share": {
			with(func(j *timeline.Job) { j.GPUShare = new(growth.Share(.25)) }),
			with(func(j *timeline.Job) { j.GPUShare = new(growth.Share(.75)) }),
			[]timeline.Change{{At: start, Job: "a", Kind: "vae", What: timeline.GPUShareChange, From: "25%", To: "75%"}},
		},
		"loaders, seen the first time": {running, with(func(j *timeline.Job) { j.Loaders = two() }), nil},
		"loaders that were advised before the first reading": {
			running, with(func(j *timeline.Job) { j.Loaders, j.Acknowledged = two(), 1 }),
			[]timeline.Change{{What: timeline.LoaderChange, From: timeline.Own, To: "2"}},
		},
		"a resize that kubelet has applied": {
			running, with(func(j *timeline.Job) { j.Request = 500 }),
			[]timeline.Change{{What: timeline.ShareChange, From: "150m", To: "500m"}},
		},
		"another category": {
			with(func(j *timeline.Job) { j.Category = growth.Progressing }), with(func(j *timeline.Job) { j.Category = growth.Watching }),
			[]timeline.Change{{What: timeline.CategoryChange, From: "Progressing", To: "Watching"}},
		},
		"other loaders": {
			with(func(j *timeline.Job) { j.Loaders = two() }), with(func(j *timeline.Job) { j.Loaders = four() }),
			[]timeline.Change{{What: timeline.LoaderChange, From: "2", To: "4"}},
		},
		"a restart in place": {
			running, with(func(j *timeline.Job) { j.Restarts = 1 }),
			[]timeline.Change{{What: timeline.RestartChange, From: "0", To: "1"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var line timeline.Timeline
			line.Add(at(0, tc.was))
			for i := range tc.want {
				tc.want[i].At, tc.want[i].Job, tc.want[i].Kind = start.Add(time.Second), "a", "vae"
			}
			require.Equal(t, tc.want, line.Add(at(1, tc.is)))
		})
	}
}

func TestTimeline_AddReturnsChangesOfState(t *testing.T) {
	var line timeline.Timeline
	var states []string
	for i, job := range []timeline.Job{
		{Name: "a", State: timeline.Expected},
		{Name: "a", State: timeline.Pending},
		{Name: "a", State: timeline.Starting, Node: "n1"},
		{Name: "a", State: timeline.Running, Node: "n1"},
		{Name: "a", State: timeline.Finished, Node: "n1"},
	} {
		for _, c := range line.Add(at(i, job)) {
			states = append(states, string(c.What)+" "+c.To)
		}
	}
	require.Equal(t, []string{"state pending", "state starting", "node n1", "state running", "state finished"}, states)
}

func TestTimeline_CarriesTheCoordinatorsValues(t *testing.T) {
	var line timeline.Timeline
	line.Add(at(0, timeline.Job{
		Name: "a", State: timeline.Running, Sampled: true, Reported: true, Step: 70, Steps: 80, Loaders: two(), CPUUsed: 300, Request: 150,
	}))
	line.Add(at(1, timeline.Job{Name: "a", State: timeline.Starting, Restarts: 1}))
	job, _ := line.Last().Job("a")
	require.EqualValues(t, 70, job.Step)
	line.Add(at(2, timeline.Job{Name: "a", State: timeline.Finished, Ended: start, Request: 200}))
	job, _ = line.Last().Job("a")
	require.EqualValues(t, 80, job.Step, "it has taken all of its steps since it was last heard of")
	require.Equal(t, 2, *job.Loaders)
	require.Equal(t, timeline.Finished, job.State)
	require.EqualValues(t, 200, job.Request, "the pod knows better")
	require.Zero(t, job.CPUUsed, "a job that is over uses nothing")
	require.True(t, line.Last().Over())
}

func TestTimeline_KeepsNodesWhileTheTunerIsUnavailable(t *testing.T) {
	var line timeline.Timeline
	line.Add(timeline.Reading{At: start, Nodes: []timeline.Node{{Name: "n1"}}})
	line.Add(timeline.Reading{At: start.Add(time.Second), Unavailable: "connection refused"})
	require.Len(t, line.Last().Nodes, 1)
}

func TestCount_ByKind(t *testing.T) {
	line := timeline.Timeline{Changes: []timeline.Change{
		{Kind: "vae", What: timeline.ShareChange}, {Kind: "vae", What: timeline.LoaderChange}, {Kind: "cnn", What: timeline.CategoryChange},
		{Kind: "vae", What: timeline.StateChange},
	}}
	require.Equal(t, timeline.Seen{Kind: "vae", Shares: 1, Loaders: 1}, line.Count("vae"))
	require.Equal(t, 1, line.Count("cnn").Of(timeline.CategoryChange))
	require.Zero(t, line.Count("vae").Of(timeline.CategoryChange))
	require.Zero(t, line.Count("vae").Of(timeline.StateChange))
}

func TestAgainst(t *testing.T) {
	done := func(name string, seconds int) timeline.Job {
		return timeline.Job{Name: name, State: timeline.Finished, Submitted: start, Ended: start.Add(time.Duration(seconds) * time.Second)}
	}
	var flowcon, fair timeline.Timeline
	flowcon.Add(at(0, done("a", 90), done("b", 220), done("c", 50)))
	failed := done("c", 10)
	failed.State = timeline.Failed
	fair.Add(at(0, done("a", 100), done("b", 200), failed))
	jobs, mean := flowcon.Against(&fair)
	require.InDelta(t, -0.1, jobs[0].Relative(), 1e-9)
	require.InDelta(t, +0.1, jobs[1].Relative(), 1e-9)
	require.False(t, jobs[2].Known(), "a job that failed took no time that could be compared")
	require.Equal(t, 155*time.Second, mean.Completion)
	require.Equal(t, 150*time.Second, mean.Other)
	require.Equal(t, 220*time.Second, flowcon.Makespan())
}

func TestTimeline_CourseAndGrowths(t *testing.T) {
	var line timeline.Timeline
	line.Add(at(0, timeline.Job{Name: "a", State: timeline.Pending}))
	for i, g := range []growth.Growth{1, 0.5, 0.25} {
		line.Add(at(i+1, timeline.Job{Name: "a", State: timeline.Running, Sampled: true, Reported: true, Growth: g}))
	}
	require.Len(t, line.Course("a"), 3)
	require.Equal(t, time.Second, line.Course("a")[0].Since)
	require.Equal(t, []growth.Growth{0.5, 0.25}, line.Growths("a", 2))
	require.Empty(t, line.Growths("b", 2))
}
