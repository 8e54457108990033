package plugin_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A job is named by the direct controller of its pods, its gang or its JobSet, also as "kubectl get -o name" prints it.
func TestPlugin_MovesJobsByKindAndName(t *testing.T) {
	pods := []podOf{
		{name: "ddp-0", controller: "Job/ddp"},
		{name: "ddp-1", controller: "Job/ddp"},
		{name: "bert-0", controller: "Job/bert", gang: "large/2"},
		{name: "bert-1", controller: "Job/bert", gang: "large/2"},
		{name: "torch-0", controller: "PyTorchJob/a.b"},
		{name: "set-node-0", controller: "Job/set-node-0", set: "set"},
		{name: "set-node-1", controller: "Job/set-node-1", set: "set"},
		{name: "named", controller: "Job/set-node-2", set: "other", gang: "set/2"},
		{name: "web-a", controller: "ReplicaSet/web-7d9f8"},
		{name: "web-b", controller: "ReplicaSet/web-5c6b4"},
		{name: "web-gpu-a", controller: "ReplicaSet/web-gpu-5c6b4"},
		{name: "nightly-x", controller: "Job/nightly-29401"},
	}
	for name, tc := range map[string]struct {
		moved string // the pods that are annotated
		err   string
	}{
		"job/ddp":                       {moved: "ddp-0 ddp-1"},
		"job.batch/ddp":                 {moved: "ddp-0 ddp-1"},
		"Job.batch/ddp":                 {moved: "ddp-0 ddp-1"},
		"job/bert":                      {moved: "bert-0 bert-1"},
		"gang/large":                    {moved: "bert-0 bert-1"},
		"gang/set":                      {moved: "named"},
		"pytorchjob.kubeflow.org/a.b":   {moved: "torch-0"},
		"jobset/set":                    {moved: "set-node-0 set-node-1"},
		"jobset.jobset.x-k8s.io/set":    {moved: "set-node-0 set-node-1"},
		"job/set-node-1":                {moved: "set-node-1"},
		"replicaset.apps/web-7d9f8":     {moved: "web-a"},
		"deployment/web":                {err: "no pod of deployment/web runs and shares a GPU. The direct controller of the pods is meant: replicaset/web-7d9f8, replicaset/web-5c6b4\n"},
		"deployment.apps/web-gpu":       {err: "no pod of deployment/web-gpu runs and shares a GPU. The direct controller of the pods is meant: replicaset/web-gpu-5c6b4\n"},
		"deploy/none":                   {err: "no pod of deploy/none runs and shares a GPU. The direct controller of the pods is meant: replicaset/NAME\n"},
		"cronjob.batch/nightly":         {err: "The direct controller of the pods is meant: job/nightly-29401\n"},
		"job/none":                      {err: "no pod of job/none runs and shares a GPU\n"},
		"jobset/":                       {err: "no pod of jobset/ runs and shares a GPU\n"},
		"statefulset.apps/set-node-0":   {err: "no pod of statefulset/set-node-0 runs and shares a GPU\n"},
		"job.batch/ddp-0":               {err: "no pod of job/ddp-0 runs and shares a GPU\n"},
		"replicaset.apps/web":           {err: "no pod of replicaset/web runs and shares a GPU\n"},
		"jobset.jobset.x-k8s.io/absent": {err: "no pod of jobset/absent runs and shares a GPU\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, replay(t, pods...), "move", name)
			if tc.err != "" {
				require.Equal(t, 1, got.code)
				require.Contains(t, got.err, tc.err)
				require.Empty(t, changes(got.commands))
				return
			}
			require.Zero(t, got.code, got.err)
			require.Equal(t, "annotate pod "+tc.moved+" -n default --overwrite gpushare/move=any\n", changes(got.commands))
		})
	}
	t.Run("a dry run shows all pods of a JobSet", func(t *testing.T) {
		got := run(t, replay(t, pods...), "move", "jobset/set", "--dry-run")
		require.Zero(t, got.code, got.err)
		require.Contains(t, got.out, "All pods of jobset/set that are one job save at one step, and then move together, or none does:\n"+
			"POD         NODE    AFTER THE MOVE\n"+
			"set-node-0  node-1  another node\n"+
			"set-node-1  node-1  another node\n")
	})
}
