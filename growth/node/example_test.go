package node_test

import (
	"fmt"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// Two jobs run on a node of one core. The short one gets most of the CPU, because the long one still ends in time.
func ExampleNode_Step() {
	n := node.New(node.Config{Policy: policy.Default, Interval: policy.DefaultInterval, Alpha: policy.DefaultAlpha, Beta: policy.DefaultBeta})
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	n.Step(now, node.CapacityChanged{CPU: growth.Core})
	for _, job := range []struct {
		uid  growth.PodUID
		work growth.CoreSeconds
	}{{"short", 30}, {"long", 300}} {
		n.Step(now, node.PodUpdated{Pod: pod(job.uid)})
		n.Step(now, node.ForecastProvided{Pod: job.uid, Left: remaining.Exact(job.work), Need: remaining.Exact(job.work)})
	}
	effects := n.Step(now, node.Woken{})
	for _, resize := range effects.Resizes {
		fmt.Printf("resize %s from %s to %s\n", resize.Pod.Name, resize.From, resize.To)
	}
	fmt.Println("next decision after", effects.Wake.Sub(now))
	// Output:
	// resize long from 400m to 8m
	// resize short from 400m to 792m
	// next decision after 5s
}

func pod(uid growth.PodUID) node.Pod {
	return node.Pod{
		Ref:         growth.PodRef{Namespace: "team", Name: string(uid), UID: uid},
		Running:     true,
		Annotations: map[string]string{"gpushare/gpu-mem": "8Gi"},
		Containers:  []node.Container{{Name: "train", Request: 400}},
	}
}
