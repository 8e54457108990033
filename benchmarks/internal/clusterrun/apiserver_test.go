package clusterrun

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
	"github.com/trellis-gpu/trellis/benchmarks/internal/training"
	"github.com/trellis-gpu/trellis/daemon/controlplanetest"
)

// A stock API server accepts the Jobs of a phase, and what a phase sets on the extender. No controller runs there, so the test ends the
// Jobs itself.
func TestPlayer_OnAStockAPIServer(t *testing.T) {
	client := stock(t)
	deployments := client.AppsV1().Deployments(cluster.Namespace)
	_, err := deployments.Create(t.Context(), extenderDeployment(), metav1.CreateOptions{})
	require.NoError(t, err)
	connection := &cluster.Connection{Kubernetes: client}
	err = configure(t.Context(), connection, Trellis.extender("/checkpoints"), time.Second)
	require.ErrorContains(t, err, "the extender was not replaced within 1s", "nothing starts its pods here")
	d, err := deployments.Get(t.Context(), extender, metav1.GetOptions{})
	require.NoError(t, err)
	env := map[string]string{}
	for _, e := range d.Spec.Template.Spec.Containers[0].Env {
		env[e.Name] = e.Value
	}
	require.Equal(t, map[string]string{
		"GOGC": "50", "TRELLIS_POLICY": "growth", "TRELLIS_MOVES": "automatic", "TRELLIS_SHARED_HOST_PATHS": "/checkpoints",
	}, env)

	setup := training.Setup{Namespace: "jobs", Run: "run-1", Image: "torch:1", Python: "python3", MachineFolders: training.MachineFolders()}
	p := player{connection: connection, setup: setup, checkpoints: "/checkpoints", say: t.Logf}
	p.began, p.submitted, p.ended = time.Now(), map[string]bool{}, map[string]time.Duration{}
	p.result = Played{Phase: Alone, Seconds: map[string]float64{}, Pods: map[string]Pod{}}
	starts := Alone.starts(Schedule(1), 3)
	require.NoError(t, p.look(t.Context(), starts))
	require.Len(t, p.submitted, 3, "one for each node")
	end(t, client, starts[0].Name)
	require.ErrorContains(t, p.look(t.Context(), starts), "none of its 0 pods has succeeded")
	succeed(t, client, starts[0].Name)
	require.NoError(t, p.look(t.Context(), starts))
	require.Len(t, p.submitted, 4, "the next one on the node of the one that has ended")
	require.InDelta(t, 30, p.result.Seconds[starts[0].Name], 0)
	require.Equal(t, "node-1", p.result.Pods[starts[0].Name].Node)
	require.NoError(t, p.look(t.Context(), starts))
	require.Len(t, p.submitted, 4)
}

// end writes the status of a Job that has taken 30 s.
func end(t *testing.T, client kubernetes.Interface, name string) {
	jobs := client.BatchV1().Jobs("jobs")
	j, err := jobs.Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	at := metav1.NewTime(j.CreationTimestamp.Add(30 * time.Second))
	j.Status.StartTime, j.Status.CompletionTime = &j.CreationTimestamp, &at
	j.Status.Succeeded = 1
	for _, c := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete} {
		j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{Type: c, Status: corev1.ConditionTrue, LastTransitionTime: at})
	}
	_, err = jobs.UpdateStatus(t.Context(), j, metav1.UpdateOptions{})
	require.NoError(t, err)
}

// succeed adds a pod in which a Job has ended.
func succeed(t *testing.T, client kubernetes.Interface, name string) {
	pods := client.CoreV1().Pods("jobs")
	pod, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{batchv1.JobNameLabel: name}},
		Spec:       corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{{Name: "train", Image: "torch:1"}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	pod.Status.Phase = corev1.PodSucceeded
	end := &corev1.ContainerStateTerminated{StartedAt: pod.CreationTimestamp, FinishedAt: pod.CreationTimestamp}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "train", Image: "torch:1", State: corev1.ContainerState{Terminated: end}}}
	_, err = pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{})
	require.NoError(t, err)
}

func extenderDeployment() *appsv1.Deployment {
	labels := map[string]string{"app": extender}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: extender},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{
					{Name: extender, Image: "extender:1", Env: []corev1.EnvVar{{Name: "GOGC", Value: "50"}}},
					{Name: "scheduler", Image: "scheduler:1"},
				}},
			},
		},
	}
}

// stock returns a client of a stock API server with the namespaces of the test.
func stock(t *testing.T) kubernetes.Interface {
	dir := controlplanetest.StockDir()
	if dir == "" {
		t.Skip("needs TRELLIS_STOCK_DIR, a folder with etcd and kube-apiserver")
	}
	plane, err := controlplanetest.Start(t.Context(), controlplanetest.Options{
		StockDir:       dir,
		Dir:            t.TempDir(),
		Users:          []string{"admin"},
		APIServerFlags: []string{"--disable-admission-plugins=ServiceAccount"},
	})
	t.Cleanup(plane.Close)
	require.NoError(t, err)
	client, err := kubernetes.NewForConfig(&rest.Config{
		Host:            plane.URL,
		BearerToken:     "admin",
		TLSClientConfig: rest.TLSClientConfig{Insecure: true},
	})
	require.NoError(t, err)
	for _, name := range []string{"jobs", cluster.Namespace} {
		_, err = client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	return client
}
