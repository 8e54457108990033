package web

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/tuner/api"
	"github.com/trellis-gpu/trellis/tuner/internal/history"
)

func TestState_HasOneEntryForAJobOfSeveralPods(t *testing.T) {
	sample := func(name, gang string, reported bool, worldSize int) history.Job {
		uid := growth.PodUID(name + "-uid")
		return history.Job{UID: uid, Sample: &bus.Sample{
			Pod: growth.PodRef{Namespace: "ns", Name: name, UID: uid}, Node: growth.NodeName("node-" + name), Gang: gang,
			Reported: reported, WorldSize: worldSize,
		}}
	}
	doc := state(&history.Snapshot{Jobs: []history.Job{
		sample("a", "ddp", false, 2), sample("b", "ddp", true, 2),
		sample("c", "", true, 0),
		sample("d", "search", true, 1), sample("e", "search", true, 1),
	}}, time.Time{})
	require.Equal(t, growth.PodUID("b-uid"), doc.Jobs[0].PartOf)
	require.Equal(t, []api.Pod{
		{Pod: doc.Jobs[0].Sample.Pod, Node: "node-a"}, {Pod: doc.Jobs[1].Sample.Pod, Node: "node-b"},
	}, doc.Jobs[1].Pods)
	for _, i := range []int{2, 3, 4} {
		require.Empty(t, doc.Jobs[i].PartOf, "more processes than the job has, or no gang")
		require.Empty(t, doc.Jobs[i].Pods)
	}
}
