package advise_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/loader"
	"github.com/trellis-gpu/trellis/growth/remaining"

	"github.com/trellis-gpu/trellis/tuner/internal/advise"
	"github.com/trellis-gpu/trellis/tuner/internal/history"
)

// rankOf makes a job one pod of a job with a world size.
func rankOf(gang string, worldSize int, node growth.NodeName) func(*history.Job) {
	return func(j *history.Job) {
		j.Sample.Gang, j.Sample.WorldSize, j.Sample.Node = gang, worldSize, node
	}
}

// threeNodes are nodes with four, two and eight cores for loading.
func threeNodes(jobs ...history.Job) *history.Snapshot {
	s := oneCore(jobs...)
	s.Nodes = nil
	for name, budget := range map[growth.NodeName]int{"n1": 4, "n2": 2, "n3": 8} {
		s.Nodes = append(s.Nodes, history.Node{Name: name, Load: &bus.NodeLoad{LoaderBudget: budget}})
	}
	return s
}

func TestDecide_JobsThatSpanNodes(t *testing.T) {
	on := func(node growth.NodeName) func(*history.Job) { return func(j *history.Job) { j.Sample.Node = node } }
	for name, c := range map[string]decideCase{
		"the node with fewer cores limits both pods": {
			threeNodes(job("a0", .9, 1, slow, rankOf("g", 2, "n1")), job("a1", .9, 1, slow, rankOf("g", 2, "n2"))),
			loaders{"a0": 2, "a1": 2},
		},
		"the rest goes to another job": {
			threeNodes(job("a0", .9, 1, slow, rankOf("g", 2, "n1")), job("b", .1, 1, slow), job("a1", .9, 1, slow, rankOf("g", 2, "n2"))),
			loaders{"a0": 2, "a1": 2, "b": 2},
		},
		"more processes than the job has are several jobs": {
			threeNodes(job("a0", .9, 1, slow, rankOf("g", 1, "n1")), job("a1", .9, 1, slow, rankOf("g", 1, "n2"))),
			loaders{"a0": 4, "a1": 2},
		},
		"other nodes are divided alone": {
			threeNodes(job("a0", .9, 1, slow, rankOf("g", 2, "n1")), job("a1", .9, 1, slow, rankOf("g", 2, "n2")),
				job("c", .9, 1, slow, on("n3"))),
			loaders{"a0": 2, "a1": 2, "c": 8},
		},
		"two jobs connect three nodes": {
			threeNodes(job("a0", .9, 1, slow, rankOf("g", 2, "n1")), job("a1", .9, 1, slow, rankOf("g", 2, "n2")),
				job("b0", .9, 1, slow, rankOf("h", 2, "n2")), job("b1", .9, 1, slow, rankOf("h", 2, "n3"))),
			loaders{"a0": 0, "a1": 0, "b0": 2, "b1": 2}, // one worker is hardly faster than none
		},
		"a pod that the user has not opened for tuning only uses cores": {
			threeNodes(job("a0", .9, 1, slow, rankOf("g", 2, "n1")), job("a1", .9, 1, slow, rankOf("g", 2, "n2"),
				func(j *history.Job) { j.Sample.Tunable = nil })),
			loaders{"a0": 4},
		},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, loadersOf(decideLater(c.snapshot))) })
	}
}

// TestDecide_WeighsTheRemainingTime: a change must repay a rebuild of 4 s three times.
func TestDecide_WeighsTheRemainingTime(t *testing.T) {
	endsAt := func(at time.Time, known bool) func(*history.Job) {
		return func(j *history.Job) {
			j.Sample.ETA = &bus.ETA{ETA: gpushare.ETA{Likely: at}, Remaining: remaining.Estimate{Known: known}}
		}
	}
	later := start.Add(time.Hour)
	for name, c := range map[string]struct {
		options []func(*history.Job)
		want    loaders
	}{
		"by the steps that are left": {[]func(*history.Job){func(j *history.Job) {
			j.Sample.TotalSteps, j.Sample.StepSeconds = 101, 1
		}}, loaders{}},
		"steps that are numbered per epoch": {[]func(*history.Job){func(j *history.Job) {
			j.Sample.TotalSteps, j.Sample.Done, j.Sample.StepSeconds = 1000, 999, 1
		}}, loaders{}},
		"steps before the estimate": {[]func(*history.Job){endsAt(later.Add(time.Second), true), func(j *history.Job) {
			j.Sample.TotalSteps, j.Sample.StepSeconds = 1000, 1
		}}, loaders{"a": 2}},
		"by the estimated end": {[]func(*history.Job){endsAt(later.Add(time.Second), true)}, loaders{}},
		"a later end":          {[]func(*history.Job){endsAt(later.Add(time.Hour), true)}, loaders{"a": 2}},
		"the seconds that are left count, and the node's clock does not": {[]func(*history.Job){
			endsAt(later.Add(-time.Hour), true),
			func(j *history.Job) { j.Sample.ETA.Left = new(growth.Seconds(3600)) },
		}, loaders{"a": 2}},
		"a clock that is ahead": {[]func(*history.Job){
			endsAt(later.Add(time.Hour), true),
			func(j *history.Job) { j.Sample.ETA.Left = new(growth.Seconds(1)) },
		}, loaders{}},
		"an end in the past":           {[]func(*history.Job){endsAt(start, true)}, loaders{}},
		"unknown":                      {[]func(*history.Job){endsAt(start, false)}, loaders{"a": 2}},
		"a rebuild that takes minutes": {[]func(*history.Job){func(j *history.Job) { j.RebuildTime = new(growth.Seconds(600)) }}, loaders{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := oneCore(job("a", .9, 1, append(c.options, slow)...))
			s.Nodes[0].Load.LoaderBudget = 2
			a := advise.Adviser{Policy: loader.DefaultChangePolicy()}
			a.Decide(s, start)
			require.Equal(t, c.want, loadersOf(a.Decide(s, later)))
		})
	}
}
