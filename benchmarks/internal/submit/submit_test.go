package submit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	core "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
	"github.com/trellis-gpu/trellis/benchmarks/internal/submit"
	"github.com/trellis-gpu/trellis/benchmarks/internal/training"
	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
)

var list = workload.Workload{
	{Name: "first", Kind: "vae", Steps: 10, Batch: 32, GPUMemory: "4Gi", CPU: 100, Metric: "loss:min", Progress: "socket", Seed: 1, Device: workload.CPU},
	{Name: "second", Kind: "ddp", Steps: 20, Batch: 32, GPUs: 2, GPUMemory: "4Gi", CPU: 100, Metric: "loss:min", Progress: "socket", Seed: 2, Arrival: 10 * time.Second, Device: workload.CPU},
	{Name: "third", Kind: "cnn", Steps: 30, Batch: 32, GPUMemory: "4Gi", CPU: 100, Metric: "loss:min", Progress: "socket", Seed: 3, Arrival: time.Hour, Device: workload.CPU},
}

// harness is a fake cluster with the lines that a submission has said.
type harness struct {
	client *fake.Clientset
	said   []string
	// created has the time of each created pod from the start.
	created map[string]time.Duration
}

func newHarness(objects ...runtime.Object) *harness {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "training", Name: "default"}}
	w := &harness{client: fake.NewClientset(append(objects, account)...), created: map[string]time.Duration{}}
	began := time.Now()
	w.client.PrependReactor("create", "pods", func(a core.Action) (bool, runtime.Object, error) {
		name := a.(core.CreateAction).GetObject().(*corev1.Pod).Name
		if _, again := w.created[name]; !again {
			w.created[name] = time.Since(began)
		}
		return false, nil, nil
	})
	return w
}

// fails makes creations of a pod fail as often as times, then succeed.
func (w *harness) fails(name string, times int, err error) {
	w.client.PrependReactor("create", "pods", func(a core.Action) (bool, runtime.Object, error) {
		if a.(core.CreateAction).GetObject().(*corev1.Pod).Name != name || times == 0 {
			return false, nil, nil
		}
		times--
		return true, nil, err
	})
}

func (w *harness) submission() submit.Submission {
	return submit.Submission{
		Jobs:    list,
		Setup:   training.Setup{Namespace: "training", Run: "submit-1", Image: "torch:1", Python: "python3"},
		Scripts: map[string]string{"run.py": "print()"},
		Cluster: &cluster.Connection{Kubernetes: w.client},
		Say:     func(format string, values ...any) { w.said = append(w.said, fmt.Sprintf(format, values...)) },
	}
}

func states(r submit.Report) (all []submit.State) {
	for _, j := range r.Jobs {
		all = append(all, j.State)
	}
	return all
}

func TestSubmission_SubmitsJobsWhenTheyArrive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness()
		report, err := w.submission().Do(t.Context())
		require.NoError(t, err)
		require.Equal(t, map[string]time.Duration{"first": 0, "second": 10 * time.Second, "third": time.Hour}, w.created)
		require.Equal(t, []submit.State{submit.Submitted, submit.Submitted, submit.Submitted}, states(report))
		require.Equal(t, []string{
			"namespace training is new",
			"   0.0s first: vae, 10 steps (1 of 3)",
			"  10.0s second: ddp, 20 steps (2 of 3)",
			"3600.0s third: cnn, 30 steps (3 of 3)",
		}, w.said)
		pod, err := w.client.CoreV1().Pods("training").Get(t.Context(), "second", metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, "submit-1", pod.Labels[training.RunLabel])
		require.Equal(t, "10s", pod.Annotations[submit.ArrivalAnnotation])
		scripts, err := w.client.CoreV1().ConfigMaps("training").Get(t.Context(), "jobs", metav1.GetOptions{})
		require.NoError(t, err)
		require.Contains(t, scripts.Data, "run.py")
	})
}

func TestSubmission_LeavesWhatWasSubmittedWhenItIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		w := newHarness()
		report, err := w.submission().Do(ctx)
		require.ErrorContains(t, err, "stopped")
		require.Equal(t, []submit.State{submit.Submitted, submit.Submitted, submit.Waiting}, states(report))
		require.Equal(t, "2 of 3 jobs were submitted and stay: kubectl delete pods -n training -l bench.trellis/run=submit-1 deletes them.", report.Rest())
		pods, err := w.client.CoreV1().Pods("training").List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Len(t, pods.Items, 2)
	})
}

func TestSubmission_ToleratesErrorsForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness()
		w.fails("second", 5, errors.New("connection refused"))
		_, err := w.submission().Do(t.Context())
		require.NoError(t, err)
		require.Equal(t, 15*time.Second, w.created["second"])
		require.Contains(t, w.said, "second: connection refused; trying again for 30s")

		w = newHarness()
		w.fails("second", 1000, errors.New("connection refused"))
		report, err := w.submission().Do(t.Context())
		require.ErrorContains(t, err, "pod second: connection refused")
		require.Equal(t, []submit.State{submit.Submitted, submit.Waiting, submit.Waiting}, states(report))
	})
}

func TestSubmission_RefusedJobsDoNotStopOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness()
		w.fails("second", 1, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "second", errors.New("exceeded quota")))
		report, err := w.submission().Do(t.Context())
		require.ErrorContains(t, err, "1 of 3 jobs were refused")
		require.Equal(t, []submit.State{submit.Submitted, submit.Refused, submit.Submitted}, states(report))
		require.Contains(t, report.Jobs[1].Error, "exceeded quota")
	})
}

func TestSubmission_ALostAnswerIsNoSecondJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness()
		lost := false
		w.client.PrependReactor("create", "pods", func(a core.Action) (bool, runtime.Object, error) {
			pod := a.(core.CreateAction).GetObject().(*corev1.Pod)
			if pod.Name != "second" || lost {
				return false, nil, nil
			}
			lost = true
			return true, nil, errors.Join(errors.New("EOF"), w.client.Tracker().Add(pod))
		})
		report, err := w.submission().Do(t.Context())
		require.NoError(t, err)
		require.Equal(t, submit.Submitted, report.Jobs[1].State)
	})
}

func TestSubmission_RefusesANamespaceWithOtherJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := metav1.ObjectMeta{Namespace: "training", Name: "second"}
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "training"}}
		w := newHarness(namespace, &corev1.Pod{ObjectMeta: other})
		report, err := w.submission().Do(t.Context())
		require.ErrorContains(t, err, "namespace training has pods of the same names already (second): delete them, or use another --namespace")
		require.Equal(t, "No job was submitted.", report.Rest())

		other.Name = "jobs"
		w = newHarness(namespace, &corev1.ConfigMap{ObjectMeta: other, Data: map[string]string{"run.py": "other"}})
		_, err = w.submission().Do(t.Context())
		require.ErrorContains(t, err, "ConfigMap jobs of namespace training has other programs")
		require.Empty(t, w.created)

		w = newHarness(namespace, &corev1.ConfigMap{ObjectMeta: other, Data: w.submission().Scripts})
		_, err = w.submission().Do(t.Context())
		require.NoError(t, err, "the same programs, from an earlier submission")
	})
}

func TestManifests(t *testing.T) {
	for _, format := range []string{"yaml", "json"} {
		var out strings.Builder
		require.NoError(t, newHarness().submission().Manifests(&out, format))
		decode := func(text []byte, into any) error { return yaml.Unmarshal(text, into) }
		if format == "json" {
			decode = json.Unmarshal
		}
		var got struct {
			Kind  string
			Items []struct {
				APIVersion string
				Kind       string
				Metadata   metav1.ObjectMeta
			}
		}
		require.NoError(t, decode([]byte(out.String()), &got))
		require.Equal(t, "List", got.Kind)
		require.Len(t, got.Items, 5)
		require.Equal(t, "Namespace", got.Items[0].Kind)
		require.Equal(t, "Pod", got.Items[4].Kind)
		require.Equal(t, "1h0m0s", got.Items[4].Metadata.Annotations[submit.ArrivalAnnotation])
	}
}

func TestReport_Formats(t *testing.T) {
	var out strings.Builder
	require.NoError(t, newHarness().submission().Manifests(&out, "table"))
	require.Equal(t, `NAME    KIND  ARRIVAL  STEPS  BATCH  GPUS  GPU MEM  WORK  STATE
first   vae   0.0s     10     32     1     4Gi      0s    waiting
second  ddp   10.0s    20     32     2     4Gi      1s    waiting
third   cnn   3600.0s  30     32     1     4Gi      0s    waiting
`, out.String())
	out.Reset()
	report := submit.Report{Namespace: "n", Run: "r", Jobs: []submit.Outcome{{Name: "a", Kind: "vae", State: submit.Refused, Error: "no"}}}
	require.NoError(t, report.Write(&out, "json"))
	var again submit.Report
	require.NoError(t, json.Unmarshal([]byte(out.String()), &again))
	require.Equal(t, report, again)
}
