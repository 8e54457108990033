package loader_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/loader"
)

// divide divides the budget of one node.
func divide(running []loader.Running, budget int) loader.Plan {
	return loader.DefaultChangePolicy().Divide([]loader.RunningNode{{Name: "n1", Budget: budget, Running: running}})
}

func TestChangePolicy_Divide(t *testing.T) {
	curve := loader.Curve{100, 150, 200, 250, 251}
	job := func(uid growth.PodUID, weight loader.Weight, loaders int, unchanged time.Duration, remaining growth.Seconds) loader.Running {
		return loader.Running{
			Job: loader.Job{UID: uid, Weight: weight, Width: 1, Curve: curve}, Loaders: loaders, Unchanged: unchanged, Remaining: remaining,
		}
	}
	unmeasured := func(uid growth.PodUID, loaders int) loader.Running {
		return loader.Running{Job: loader.Job{UID: uid, Width: 1}, Loaders: loaders}
	}
	advised := func(uid growth.PodUID, loaders int, unchanged time.Duration) loader.Running {
		return loader.Running{Job: loader.Job{UID: uid, Width: 1}, Loaders: loaders, Advised: true, Unchanged: unchanged}
	}
	for name, c := range map[string]struct {
		running []loader.Running
		budget  int
		want    loader.Allocation
		reason  string
	}{
		"the best allocation stays": {
			[]loader.Running{job("a", 1, 1, time.Hour, 600)}, 1, loader.Allocation{"a": 1}, "division is the best",
		},
		"a node over its budget changes at once": {
			[]loader.Running{job("a", 1, 2, 0, 1), job("b", .5, 2, 0, 1)}, 1, loader.Allocation{"a": 1, "b": 0}, "4 workers ran on a budget of 1 core",
		},
		"the only core moves to the growing job": {
			[]loader.Running{job("a", .1, 1, time.Hour, 600), job("b", .9, 0, time.Hour, 600)}, 1, loader.Allocation{"a": 0, "b": 1}, "gains",
		},
		"no change within the dwell time": {
			[]loader.Running{job("a", .1, 1, time.Second, 600), job("b", .9, 0, time.Hour, 600)}, 1, loader.Allocation{"a": 1, "b": 0}, "keeps",
		},
		"no change for a small gain": {
			[]loader.Running{job("a", .9, 1, time.Hour, 600), job("b", .91, 0, time.Hour, 600)}, 1, loader.Allocation{"a": 1, "b": 0}, "too little",
		},
		"no change shortly before the jobs end": {
			[]loader.Running{job("a", .1, 1, time.Hour, 5), job("b", .9, 0, time.Hour, 2)}, 1, loader.Allocation{"a": 1, "b": 0}, "too little",
		},
		"cores of a departed job are assigned": {
			[]loader.Running{job("a", 1, 1, time.Minute, 600)}, 3, loader.Allocation{"a": 3}, "gains",
		},
		"one sample/s more is not worth a rebuild": {
			[]loader.Running{job("a", 1, 3, time.Minute, 600)}, 4, loader.Allocation{"a": 3}, "too little",
		},
		"an unmeasured job keeps its workers if there is room": {
			[]loader.Running{job("a", 1, 1, time.Hour, 600), unmeasured("new", 2)}, 3, loader.Allocation{"a": 1, "new": 2}, "division is the best",
		},
		"an unmeasured job gets an equal part of an overloaded node, unless it wants less": {
			[]loader.Running{job("a", 1, 3, 0, 1), unmeasured("big", 4), unmeasured("small", 1)}, 6, loader.Allocation{"a": 3, "big": 2, "small": 1}, "8 workers ran on a budget of 6 cores",
		},
		"an unmeasured job that was advised to use none gets workers once there are cores": {
			[]loader.Running{job("a", 1, 3, time.Second, 600), advised("new", 0, time.Hour)}, 8, loader.Allocation{"a": 3, "new": 4}, "5 cores have no worker",
		},
		"an unmeasured job gets at most an equal part": {
			[]loader.Running{job("a", 1, 3, time.Second, 600), advised("new", 0, time.Hour)}, 7, loader.Allocation{"a": 3, "new": 3}, "4 cores have no worker",
		},
		"an unmeasured job keeps its workers for the dwell time": {
			[]loader.Running{advised("new", 0, time.Second)}, 8, loader.Allocation{"new": 0}, "division is the best",
		},
		"an unmeasured job that chose to use none keeps that": {
			[]loader.Running{unmeasured("new", 0)}, 8, loader.Allocation{"new": 0}, "division is the best",
		},
		"without cores no job has workers": {
			[]loader.Running{job("a", 1, 1, 0, 1), unmeasured("new", 2)}, 0, loader.Allocation{"a": 0, "new": 0}, "3 workers ran on a budget of 0 cores",
		},
		"there are no jobs": {nil, 4, loader.Allocation{}, "division is the best"},
	} {
		t.Run(name, func(t *testing.T) {
			plan := divide(c.running, c.budget)
			require.Equal(t, c.want, plan.Loaders)
			require.Contains(t, plan.Reason, c.reason)

			again := make([]loader.Running, len(c.running))
			for i, r := range c.running {
				r.Loaders = plan.Loaders[r.UID]
				again[i] = r
			}
			require.Equal(t, plan.Loaders, divide(again, c.budget).Loaders, "dividing again must change nothing")
		})
	}
}
