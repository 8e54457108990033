package node

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/loader"
)

// A job of the table has one training process for each of its GPUs.
func TestTrainingCores_OfJobsInTurns(t *testing.T) {
	type of struct {
		gpus      string // "01" for the GPUs 0 and 1
		cores     float64
		set       int
		always    growth.Share
		exclusive bool
		trial     bool
	}
	for name, tc := range map[string]struct {
		jobs  []of
		group gpuGroup
		cores int
	}{
		"three jobs on a GPU, one at a time":           {[]of{{gpus: "0", cores: .3}, {gpus: "0", cores: .3}, {gpus: "0", cores: .4}}, gpuGroup{turns: true}, 1},
		"without turns each has a process":             {[]of{{gpus: "0", cores: .3}, {gpus: "0", cores: .3}, {gpus: "0", cores: .4}}, gpuGroup{}, 3},
		"on two GPUs, two at a time":                   {[]of{{gpus: "0"}, {gpus: "01"}, {gpus: "1"}, {gpus: "1"}}, gpuGroup{turns: true}, 2},
		"busy threads, in all turns together":          {[]of{{gpus: "0", cores: 1.5}, {gpus: "0", cores: 2.4}}, gpuGroup{turns: true}, 4},
		"a set of two, and one alone":                  {[]of{{gpus: "0", set: 1}, {gpus: "0", set: 1}, {gpus: "0"}}, gpuGroup{turns: true}, 2},
		"a pair on trial":                              {[]of{{gpus: "0", set: 1, trial: true}, {gpus: "0", set: 1, trial: true}, {gpus: "0"}}, gpuGroup{turns: true}, 1},
		"all at the same time for a probe":             {[]of{{gpus: "0"}, {gpus: "0"}, {gpus: "0"}}, gpuGroup{probed: true}, 1},
		"one that is never paused computes next to it": {[]of{{gpus: "0"}, {gpus: "0"}, {gpus: "0", always: .4}}, gpuGroup{turns: true}, 2},
		"exclusive cores are not of the budget":        {[]of{{gpus: "0"}, {gpus: "0"}, {gpus: "0", cores: 3, exclusive: true}}, gpuGroup{turns: true}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			n := New(Config{})
			g, trial := tc.group, &corunTrial{}
			g.gpus = []growth.GPU{"0", "1"}
			for i, o := range tc.jobs {
				id := growth.PodUID(fmt.Sprint(i))
				j := &job{pod: Pod{Ref: growth.PodRef{UID: id}}}
				j.gpu.set = o.set
				for range 20 {
					j.training.use = j.training.use.Add(loader.Interval{Length: 10, Used: growth.Work(10 * o.cores)})
				}
				n.jobs[id] = j
				if o.trial {
					trial.pair[i], n.corunTrial = id, trial
				}
				if o.exclusive {
					n.exclusive = map[growth.PodUID]int{id: 3}
				}
				member, container := gpuJob{job: j, pods: []*job{j}, always: o.always}, bus.ContainerAllocation{}
				for _, gpu := range o.gpus {
					member.gpus = append(member.gpus, growth.GPU(gpu))
					container.GPUs = append(container.GPUs, growth.GPUShare{GPU: growth.GPU(gpu), Memory: growth.GiB})
				}
				n.allocations = append(n.allocations, bus.Allocation{Pod: j.pod.Ref, Containers: []bus.ContainerAllocation{container}})
				g.jobs = append(g.jobs, member)
			}
			n.groups = []gpuGroup{g}
			require.Equal(t, tc.cores, n.trainingCores())
		})
	}
}
