package clusterrun

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/benchmarks/internal/clustersim"
	"github.com/trellis-gpu/trellis/benchmarks/internal/training"
	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
	"github.com/trellis-gpu/trellis/growth/policy"
)

func TestSchedule(t *testing.T) {
	all := Schedule(1)
	require.Len(t, all, 12)
	require.Equal(t, all, Schedule(1), "the same seed has the same jobs")
	require.NotEqual(t, all, Schedule(2))
	require.Zero(t, all[0].Arrival)
	for i, j := range all {
		require.Contains(t, kinds(), j.Kind)
		require.LessOrEqual(t, j.Arrival, window)
		if i > 0 {
			require.GreaterOrEqual(t, j.Arrival, all[i-1].Arrival)
		}
	}
	quick := Quick(all)
	require.Len(t, quick, 6)
	require.Equal(t, all[3].Steps/5, quick[3].Steps)
	require.Equal(t, all[3].Name, quick[3].Name)
}

func TestShareOf(t *testing.T) {
	for name, tc := range map[string]struct {
		machine, nodes int
		want           string
		complaint      string
	}{
		"a core for each, and one more":         {machine: 4, nodes: 3, want: "one core"},
		"as many cores as nodes":                {machine: 3, nodes: 3, want: "0.90 of a core, by quota"},
		"three nodes on two cores":              {machine: 2, nodes: 3, want: "0.45 of a core, by quota"},
		"too many nodes for a machine to share": {machine: 2, nodes: 8, complaint: "each would have 0.23 of one, and needs 0.25"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := shareOf(tc.machine, tc.nodes)
			if tc.complaint != "" {
				require.ErrorContains(t, err, tc.complaint)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, got.String())
		})
	}
}

func TestShare_LimitsTheCgroupOfANode(t *testing.T) {
	half := share{quota: 0.5}
	write := func(root, path string) string {
		file := filepath.Join(root, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte("-1"), 0o644))
		return file
	}
	read := func(path string) string {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		return string(text)
	}
	v1, v2 := t.TempDir(), t.TempDir()
	quota := write(v1, "cpu,cpuacct/trellis-x/node-2/kubepods/cpu.cfs_quota_us")
	require.NoError(t, half.limit(v1, "x", "node-2"))
	require.Equal(t, "50000", read(quota))
	require.Equal(t, "100000", read(filepath.Join(filepath.Dir(quota), "cpu.cfs_period_us")))
	unified := write(v2, "trellis-x/node-2/kubepods/cpu.max")
	require.NoError(t, half.limit(v2, "x", "node-2"))
	require.Equal(t, "50000 100000", read(unified))
	require.ErrorContains(t, half.limit(v2, "x", "node-3"), "no cgroup trellis-x/node-3/kubepods")
	require.NoError(t, share{}.limit(v2, "x", "node-3"), "nothing to limit")
}

// Alone, the longest jobs begin, and each node runs one after the other.
func TestPhase_Starts(t *testing.T) {
	all := workload.Workload{{Name: "a", Steps: 10, Arrival: 5 * time.Second}, {Name: "b", Steps: 40}, {Name: "c", Steps: 20}, {Name: "d", Steps: 5}}
	type row struct{ name, node, after string }
	var got []row
	for _, s := range Alone.starts(all, 2) {
		got = append(got, row{s.Name, s.node, s.after})
		require.Zero(t, s.Arrival)
	}
	require.Equal(t, []row{{"b", "node-1", ""}, {"c", "node-2", ""}, {"a", "node-2", "c"}, {"d", "node-2", "a"}}, got)
	for i, s := range Together.starts(all, 2) {
		require.Equal(t, got[i], row{s.Name, s.node, got[i].after}, "the same jobs on the same node")
		require.Empty(t, s.after)
	}
	arriving := Trellis.starts(all, 2)
	require.Equal(t, start{Job: all[0]}, arriving[0])
	require.Equal(t, 5*time.Second, all[0].Arrival, "the workload is unchanged")
}

func TestStart_Due(t *testing.T) {
	ended := map[string]time.Duration{"x": time.Second}
	for name, tc := range map[string]struct {
		start start
		since time.Duration
		want  bool
	}{
		"before its arrival":         {start{Job: workload.Job{Arrival: time.Minute}}, time.Second, false},
		"at its arrival":             {start{Job: workload.Job{Arrival: time.Minute}}, time.Minute, true},
		"after a job that runs":      {start{after: "y"}, time.Hour, false},
		"after a job that has ended": {start{after: "x"}, 0, true},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, tc.start.due(tc.since, ended)) })
	}
}

func TestPhase_Installation(t *testing.T) {
	require.Equal(t, policy.Fair, Default.policy())
	require.Equal(t, policy.Default, Trellis.policy())
	require.Equal(t, "off", Alone.extender("/x")["TRELLIS_MOVES"])
	patch, err := patchOf(Trellis.extender("/x"))
	require.NoError(t, err)
	require.JSONEq(t, `{"spec": {"template": {"spec": {"containers": [{"name": "extender", "env": [
		{"name": "TRELLIS_MOVES", "value": "automatic"},
		{"name": "TRELLIS_POLICY", "value": "growth"},
		{"name": "TRELLIS_SHARED_HOST_PATHS", "value": "/x"}]}]}}}}`, string(patch))
}

func TestRolledOut(t *testing.T) {
	d := appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 3}, Spec: appsv1.DeploymentSpec{Replicas: new(int32(1))}}
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: 3, Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1}
	require.True(t, rolledOut(&d))
	for name, change := range map[string]func(*appsv1.DeploymentStatus){
		"not observed":           func(s *appsv1.DeploymentStatus) { s.ObservedGeneration = 2 },
		"an old pod still runs":  func(s *appsv1.DeploymentStatus) { s.Replicas = 2 },
		"the new pod is missing": func(s *appsv1.DeploymentStatus) { s.UpdatedReplicas = 0 },
		"it is not ready":        func(s *appsv1.DeploymentStatus) { s.AvailableReplicas = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			changed := d
			change(&changed.Status)
			require.False(t, rolledOut(&changed))
		})
	}
}

func TestObject_MayMove(t *testing.T) {
	setup := training.Setup{Namespace: "n", Run: "run-1", Image: "torch:1", Python: "python3"}
	j := object(setup, start{Job: Schedule(1)[0], node: "node-3"}, "/checkpoints")
	pod := j.Spec.Template.Spec
	require.Equal(t, "job-1", j.Name)
	require.Equal(t, map[string]string{corev1.LabelHostname: "node-3"}, pod.NodeSelector)
	paths := []string{}
	for _, v := range pod.Volumes {
		require.Nil(t, v.EmptyDir, "a folder of one node does not move")
		if v.HostPath != nil {
			paths = append(paths, v.HostPath.Path)
		}
	}
	require.Equal(t, []string{"/checkpoints/run-1/job-1"}, paths)
	require.Nil(t, object(setup, start{Job: Schedule(1)[0]}, "/checkpoints").Spec.Template.Spec.NodeSelector)
}

func TestCompletion(t *testing.T) {
	created := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	j := batchv1.Job{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: created}}
	_, ended, _ := completion(j)
	require.False(t, ended)
	j.Status.CompletionTime = new(metav1.NewTime(created.Add(70 * time.Second)))
	took, ended, failed := completion(j)
	require.True(t, ended)
	require.Empty(t, failed)
	require.Equal(t, 70*time.Second, took)
	j.Status = batchv1.JobStatus{Conditions: []batchv1.JobCondition{{
		Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: "BackoffLimitExceeded", Message: "no more",
	}}}
	_, ended, failed = completion(j)
	require.True(t, ended)
	require.Equal(t, "BackoffLimitExceeded: no more", failed)
}

func TestGoals_CountWhatIsWithin(t *testing.T) {
	before := Played{Seconds: map[string]float64{"a": 100, "b": 200}, Makespan: 210}
	after := Played{Seconds: map[string]float64{"a": 90, "b": 150}, Makespan: 200, Moves: []string{"b: moved"}}
	expected := clustersim.Prediction{
		DefaultCompletion: clustersim.Range{Median: 148, Low: 140, High: 160},
		DefaultMakespan:   clustersim.Range{Median: 205, Low: 200, High: 220},
		TrellisCompletion: clustersim.Range{Median: 110, Low: 100, High: 119}, // 120 is not in it
		TrellisMakespan:   clustersim.Range{Median: 205, Low: 190, High: 220},
		CompletionChange:  clustersim.Range{Median: -25, Low: -30, High: -15},
		MakespanChange:    clustersim.Range{Low: -10, High: 10},
		Moves:             clustersim.Range{High: 2},
	}
	goals, err := Goals(before, after, clustersim.Nodes{Switching: 0.1}, expected, nil)
	require.NoError(t, err)
	last := goals[len(goals)-1]
	require.Equal(t, within+": real", last.Name)
	require.InDelta(t, 6, last.Value, 0)
	require.False(t, *last.Met)
	require.Equal(t, "cost of a switch between jobs", goals[0].Name)
	require.InDelta(t, 10, goals[0].Value, 1e-9)
	require.Equal(t, "mean completion, default: real", goals[3].Name)
	require.InDelta(t, 150, goals[3].Value, 1e-9)
	require.InDelta(t, 140, goals[4].Low, 1e-9)
	require.Equal(t, "makespan, default: real", goals[5].Name)
	placed := clustersim.Prediction{DefaultCompletion: clustersim.Range{Median: 151}}
	goals, err = Goals(before, after, clustersim.Nodes{}, expected, &placed)
	require.NoError(t, err)
	require.Equal(t, "mean completion, default: simulated on the nodes of the run", goals[5].Name)
	require.InDelta(t, 151, goals[5].Value, 1e-9)
	require.InDelta(t, 6, goals[len(goals)-1].Value, 0, "it does not count")
	_, err = Goals(before, Played{}, clustersim.Nodes{}, expected, nil)
	require.Error(t, err)
}
