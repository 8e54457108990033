package loader_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/loader"
)

func TestPatience(t *testing.T) {
	curve := loader.Curve{100, 150, 200, 250, 251}
	job := func(uid growth.PodUID, weight loader.Weight, loaders int, kept time.Duration, remaining growth.Seconds) loader.Running {
		return loader.Running{
			Job: loader.Job{UID: uid, Weight: weight, Width: 1, Curve: curve}, Loaders: loaders, Unchanged: kept, Remaining: remaining,
		}
	}
	unmeasured := func(uid growth.PodUID, loaders int) loader.Running {
		return loader.Running{Job: loader.Job{UID: uid, Width: 1}, Loaders: loaders}
	}
	told := func(uid growth.PodUID, loaders int, kept time.Duration) loader.Running {
		return loader.Running{Job: loader.Job{UID: uid, Width: 1}, Loaders: loaders, Advised: true, Unchanged: kept}
	}
	for name, c := range map[string]struct {
		running []loader.Running
		budget  int
		want    loader.Allocation
		reason  string
	}{
		"what is best stays": {
			[]loader.Running{job("a", 1, 1, time.Hour, 600)}, 1, loader.Allocation{"a": 1}, "best already",
		},
		"a node over its budget changes at once": {
			[]loader.Running{job("a", 1, 2, 0, 1), job("b", .5, 2, 0, 1)}, 1, loader.Allocation{"a": 1, "b": 0}, "4 workers ran on a budget of 1 core",
		},
		"growth moves the one core to the other job": {
			[]loader.Running{job("a", .1, 1, time.Hour, 600), job("b", .9, 0, time.Hour, 600)}, 1, loader.Allocation{"a": 0, "b": 1}, "gains",
		},
		"but not while a job is still settling": {
			[]loader.Running{job("a", .1, 1, time.Second, 600), job("b", .9, 0, time.Hour, 600)}, 1, loader.Allocation{"a": 1, "b": 0}, "keeps",
		},
		"nor for what is noise": {
			[]loader.Running{job("a", .9, 1, time.Hour, 600), job("b", .91, 0, time.Hour, 600)}, 1, loader.Allocation{"a": 1, "b": 0}, "too little",
		},
		"nor shortly before the end": {
			[]loader.Running{job("a", .1, 1, time.Hour, 5), job("b", .9, 0, time.Hour, 2)}, 1, loader.Allocation{"a": 1, "b": 0}, "too little",
		},
		"a departure's cores are taken up": {
			[]loader.Running{job("a", 1, 1, time.Minute, 600)}, 3, loader.Allocation{"a": 3}, "gains",
		},
		"one sample more is not worth a rebuild": {
			[]loader.Running{job("a", 1, 3, time.Minute, 600)}, 4, loader.Allocation{"a": 3}, "too little",
		},
		"who is not measured keeps what there is room for": {
			[]loader.Running{job("a", 1, 1, time.Hour, 600), unmeasured("new", 2)}, 3, loader.Allocation{"a": 1, "new": 2}, "best already",
		},
		"and has an equal part of a crowded node, unless it wants less": {
			[]loader.Running{job("a", 1, 3, 0, 1), unmeasured("big", 4), unmeasured("small", 1)}, 6, loader.Allocation{"a": 3, "big": 2, "small": 1}, "8 workers ran on a budget of 6 cores",
		},
		"who was told to have none has some once there are cores": {
			[]loader.Running{job("a", 1, 3, time.Second, 600), told("new", 0, time.Hour)}, 8, loader.Allocation{"a": 3, "new": 4}, "5 cores have no worker",
		},
		"as far as they go round": {
			[]loader.Running{job("a", 1, 3, time.Second, 600), told("new", 0, time.Hour)}, 7, loader.Allocation{"a": 3, "new": 3}, "4 cores have no worker",
		},
		"but not while it may still be measured": {
			[]loader.Running{told("new", 0, time.Second)}, 8, loader.Allocation{"new": 0}, "best already",
		},
		"who chose to have none keeps that": {
			[]loader.Running{unmeasured("new", 0)}, 8, loader.Allocation{"new": 0}, "best already",
		},
		"of no cores nobody has any": {
			[]loader.Running{job("a", 1, 1, 0, 1), unmeasured("new", 2)}, 0, loader.Allocation{"a": 0, "new": 0}, "3 workers ran on a budget of 0 cores",
		},
		"nobody": {nil, 4, loader.Allocation{}, "best already"},
	} {
		t.Run(name, func(t *testing.T) {
			plan := loader.DefaultChangePolicy().Divide(c.running, c.budget)
			require.Equal(t, c.want, plan.Loaders)
			require.Contains(t, plan.Reason, c.reason)

			again := make([]loader.Running, len(c.running))
			for i, r := range c.running {
				r.Loaders = plan.Loaders[r.UID]
				again[i] = r
			}
			require.Equal(t, plan.Loaders, loader.DefaultChangePolicy().Divide(again, c.budget).Loaders, "a second look changes nothing")
		})
	}
}
