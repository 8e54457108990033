package webhook_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/trellis-gpu/trellis/extender/internal/scheduler"
	"github.com/trellis-gpu/trellis/growth"
)

func TestPreempt_VictimsByUIDOrWhole(t *testing.T) {
	for name, body := range map[string]string{
		"by UID": `{"Pod":{},"NodeNameToVictims":null,"NodeNameToMetaVictims":{
			"n":{"Pods":[{"UID":"a"},null,{"UID":"b"}],"NumPDBViolations":1},"m":{"Pods":[{"UID":"c"}]},"x":null}}`,
		"whole": `{"Pod":{},"NodeNameToMetaVictims":null,"NodeNameToVictims":{
			"n":{"Pods":[{"metadata":{"uid":"a"}},null,{"metadata":{"uid":"b"}}],"NumPDBViolations":1},"m":{"Pods":[{"metadata":{"uid":"c"}}]},"x":null}}`,
	} {
		t.Run(name, func(t *testing.T) {
			f := &fakeScheduler{}
			result := read[extenderv1.ExtenderPreemptionResult](t, post(f, "/preempt", body))
			require.Equal(t, []scheduler.Candidate{
				{Node: "m", Victims: []growth.PodUID{"c"}}, {Node: "n", Victims: []growth.PodUID{"a", "b"}, Violations: 1},
			}, f.offered)
			require.Equal(t, map[string]*extenderv1.MetaVictims{
				"m": {Pods: []*extenderv1.MetaPod{{UID: "c"}}},
				"n": {Pods: []*extenderv1.MetaPod{{UID: "a"}, {UID: "b"}}, NumPDBViolations: 1},
			}, result.NodeNameToMetaVictims)
			require.Equal(t, []string{"preempt"}, f.verbs)
		})
	}
}
