package demo_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	core "k8s.io/client-go/testing"

	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// fakeCluster is a cluster in which every pod runs for lasts. Its request, loaders and category change halfway.
type fakeCluster struct {
	client *fake.Clientset
	lasts  time.Duration
	// listErrors is the number of pod lists that fail first. tunerDown is how long the tuner does not answer.
	listErrors int
	tunerDown  time.Duration
	// rejects is the number of pods that kubelet rejects before they run.
	rejects int
	// log is the content of every pod's log.
	log string
	// ends is the final phase of pods.
	ends corev1.PodPhase

	began time.Time
	pods  []*corev1.Pod
}

func newFakeCluster(lasts time.Duration) *fakeCluster {
	w := &fakeCluster{client: fake.NewClientset(), lasts: lasts, ends: corev1.PodSucceeded, began: time.Now()}
	w.client.PrependReactor("get", "serviceaccounts", func(core.Action) (bool, runtime.Object, error) {
		if time.Since(w.began) < time.Second {
			return true, nil, errors.New("not yet")
		}
		return true, &corev1.ServiceAccount{}, nil
	})
	w.client.PrependReactor("get", "pods", func(action core.Action) (bool, runtime.Object, error) {
		return action.GetSubresource() == "log", &runtime.Unknown{Raw: []byte(w.log)}, nil
	})
	w.client.PrependReactor("create", "pods", func(action core.Action) (bool, runtime.Object, error) {
		pod := action.(core.CreateAction).GetObject().(*corev1.Pod).DeepCopy()
		pod.UID, pod.CreationTimestamp = types.UID("uid-"+pod.Name), metav1.Now()
		if w.rejects--; w.rejects >= 0 {
			pod.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "UnexpectedAdmissionError"}
		}
		w.pods = append(w.pods, pod)
		return true, pod, nil
	})
	w.client.PrependReactor("delete", "pods", func(action core.Action) (bool, runtime.Object, error) {
		name := action.(core.DeleteAction).GetName()
		w.pods = slices.DeleteFunc(w.pods, func(pod *corev1.Pod) bool { return pod.Name == name })
		return true, nil, nil
	})
	w.client.PrependReactor("list", "pods", func(core.Action) (bool, runtime.Object, error) {
		if w.listErrors--; w.listErrors >= 0 {
			return true, nil, errors.New("the API server is down")
		}
		list := &corev1.PodList{}
		for _, pod := range w.pods {
			list.Items = append(list.Items, *w.aged(pod))
		}
		return true, list, nil
	})
	return w
}

func (w *fakeCluster) connection() *cluster.Connection {
	return &cluster.Connection{Kubernetes: w.client, Proxy: w.proxy}
}

func (w *fakeCluster) aged(pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	if pod.Status.Phase == corev1.PodFailed {
		return pod
	}
	age := time.Since(pod.CreationTimestamp.Time)
	pod.Spec.NodeName = "n1"
	status := corev1.ContainerStatus{Resources: &corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(w.request(age).String()),
	}}}
	switch {
	case age < 2*time.Second:
		pod.Status.Phase = corev1.PodPending
	case age < w.lasts:
		pod.Status.Phase = corev1.PodRunning
		status.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(pod.CreationTimestamp.Add(2 * time.Second))}
	default:
		pod.Status.Phase = w.ends
		status.State.Terminated = &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(pod.CreationTimestamp.Add(w.lasts))}
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{status}
	return pod
}

func (w *fakeCluster) request(age time.Duration) growth.MilliCPU {
	if age > w.lasts/2 {
		return 600
	}
	return 150
}

func (w *fakeCluster) proxy(context.Context, string, string, string, string) (io.ReadCloser, error) {
	if time.Since(w.began) < w.tunerDown {
		return nil, errors.New("no endpoints available")
	}
	type job struct {
		Sample bus.Sample `json:"sample"`
	}
	var jobs []job
	for _, pod := range w.pods {
		age := time.Since(pod.CreationTimestamp.Time)
		if age < 3*time.Second || age >= w.lasts {
			continue
		}
		sample := bus.Sample{
			Header: bus.Header{Version: bus.Version}, Pod: growth.PodRef{Name: pod.Name, UID: growth.PodUID(pod.UID)}, Node: "n1",
			Reported: true, Step: int64(age / time.Second), Category: growth.Progressing, Loaders: new(1),
		}
		if age > w.lasts/2 {
			sample.Category, sample.Loaders = growth.Watching, new(2)
		}
		jobs = append(jobs, job{sample})
	}
	answer, err := json.Marshal(map[string]any{"synced": true, "jobs": jobs})
	return io.NopCloser(strings.NewReader(string(answer))), err
}
