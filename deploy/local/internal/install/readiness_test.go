package install

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/gpushare"
)

func TestUnready_NamesWhatIsMissing(t *testing.T) {
	const (
		deployment = `{"kind":"Deployment","metadata":{"name":"d","generation":2},"spec":{"replicas":1},` +
			`"status":{"observedGeneration":2,"replicas":1,"updatedReplicas":1,"readyReplicas":1}}`
		daemonSet = `{"kind":"DaemonSet","metadata":{"name":"s","generation":1},` +
			`"status":{"observedGeneration":1,"desiredNumberScheduled":2,"updatedNumberScheduled":2,"numberReady":2}}`
		node = `{"metadata":{"name":"n"},"status":{"allocatable":{"gpushare/gpu-mem":"48"}}}`
	)
	for name, tc := range map[string]struct {
		workload, pod, node string
		want                []string
	}{
		"nothing":                {workload: deployment, node: node},
		"nothing of a daemonset": {workload: daemonSet, node: node},
		"a rollout not seen yet": {
			workload: `{"kind":"Deployment","metadata":{"name":"d","generation":3},"status":{"observedGeneration":2,"replicas":1,"updatedReplicas":1,"readyReplicas":1}}`,
			node:     node, want: []string{"d 1/1 ready, 1 updated"},
		},
		"the old version still there": {
			workload: `{"kind":"Deployment","metadata":{"name":"d"},"status":{"replicas":2,"updatedReplicas":1,"readyReplicas":1}}`,
			node:     node, want: []string{"d 1/1 ready, 1 updated"},
		},
		"no node for a daemonset": {
			workload: `{"kind":"DaemonSet","metadata":{"name":"s"},"status":{}}`, node: node, want: []string{"s 0/0 ready, 0 updated"},
		},
		"a crash": {
			workload: deployment, node: node,
			pod:  `{"metadata":{"name":"p"},"status":{"containerStatuses":[{"name":"c","state":{"waiting":{"reason":"CrashLoopBackOff","message":"back-off 10s"}}}]}}`,
			want: []string{"p: c: CrashLoopBackOff: back-off 10s"},
		},
		"a pod that only starts": {
			workload: deployment, node: node,
			pod: `{"metadata":{"name":"p"},"status":{"containerStatuses":[{"name":"c","state":{"waiting":{"reason":"ContainerCreating"}}}]}}`,
		},
		"no place": {
			workload: deployment, node: node,
			pod:  `{"metadata":{"name":"p"},"status":{"conditions":[{"type":"PodScheduled","status":"False","message":"0/1 nodes"}]}}`,
			want: []string{"p: 0/1 nodes"},
		},
		"no GPU memory": {
			workload: deployment, node: `{"metadata":{"name":"n"},"status":{"allocatable":{"cpu":"1"}}}`,
			want: []string{"n offers no gpushare/gpu-mem"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var w workload
			require.NoError(t, json.Unmarshal([]byte(tc.workload), &w))
			var n gpuNode
			require.NoError(t, json.Unmarshal([]byte(tc.node), &n))
			var pods []pod
			if tc.pod != "" {
				var p pod
				require.NoError(t, json.Unmarshal([]byte(tc.pod), &p))
				pods = append(pods, p)
			}
			require.Equal(t, tc.want, unready([]workload{w}, pods, []gpuNode{n}, gpushare.Resource))
		})
	}
	require.Equal(t, []string{"no workload yet"}, unready(nil, nil, nil, gpushare.Resource))
}
