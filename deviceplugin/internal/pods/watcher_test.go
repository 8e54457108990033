package pods_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/apiserver"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/pods"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

func container(name, units string) corev1.Container {
	return corev1.Container{Name: name, Resources: corev1.ResourceRequirements{
		Limits: corev1.ResourceList{gpushare.Resource: resource.MustParse(units),
			corev1.ResourceCPU: resource.MustParse("1")},
	}}
}

// server is an API server without pods that sends the given events, encoded from the real types.
func server(t *testing.T, events <-chan metav1.WatchEvent) *apiserver.Client {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, "spec.nodeName=n1", r.URL.Query().Get("fieldSelector"))
		out := json.NewEncoder(w)
		if r.URL.Query().Get("watch") == "" {
			_ = out.Encode(corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}})
			return
		}
		for {
			w.(http.Flusher).Flush()
			select {
			case n := <-events:
				_ = out.Encode(n)
			case <-r.Context().Done():
				return
			}
		}
	}))
	t.Cleanup(s.Close)
	return apiserver.New(s.Client(), s.URL)
}

func TestWatcher_FollowsPods(t *testing.T) {
	created := metav1.NewTime(time.Unix(7, 0).UTC())
	sidecar := container("sidecar", "1")
	always := corev1.ContainerRestartPolicyAlways
	sidecar.RestartPolicy = &always
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:         "ns",
			Name:              "p",
			UID:               "u",
			CreationTimestamp: created,
			Annotations: map[string]string{
				gpushare.MemoryAnnotation: "4Gi", gpushare.CountAnnotation: "2",
			},
		},
		Spec: corev1.PodSpec{
			NodeName:       "n1",
			InitContainers: []corev1.Container{container("init", "4"), sidecar},
			Containers:     []corev1.Container{container("main", "8"), {Name: "plain"}},
		},
	}
	events := make(chan metav1.WatchEvent, 1)
	send := func(kind string) {
		raw, err := json.Marshal(p)
		require.NoError(t, err)
		event := metav1.WatchEvent{Type: kind}
		event.Object.Raw = raw
		events <- event
	}
	w := pods.New(server(t, events), "n1", gpushare.Resource, slog.New(slog.DiscardHandler))
	_, known := w.Pods()
	require.False(t, known)
	go func() { _ = w.Run(t.Context()) }()
	awaitPods := func(ok func([]pods.Pod, bool) bool) {
		t.Helper()
		for {
			changed := w.Changed()
			if ok(w.Pods()) {
				return
			}
			select {
			case <-changed:
			case <-time.After(10 * time.Second):
				t.Fatal("no event arrived")
			}
		}
	}
	awaitPods(func(got []pods.Pod, known bool) bool { return known && len(got) == 0 })

	send("ADDED")
	awaitPods(func(got []pods.Pod, _ bool) bool { return len(got) == 1 })
	got, _ := w.Pods()
	require.True(t, created.Time.Equal(got[0].Created))
	got[0].Created = time.Time{}
	require.Equal(t, pods.Pod{
		Ref: growth.PodRef{Namespace: "ns", Name: "p", UID: "u"}, Count: 2,
		Containers: []pods.Container{{
			Name:  "init",
			Units: 4,
			Init:  true,
		}, {
			Name:  "sidecar",
			Units: 1,
		}, {
			Name:  "main",
			Units: 8,
		}},
	}, got[0])

	p.Status.Phase = corev1.PodSucceeded
	send("MODIFIED")
	awaitPods(func(got []pods.Pod, _ bool) bool { return len(got) == 1 && got[0].Finished })
	now := metav1.Now()
	p.DeletionTimestamp = &now
	send("MODIFIED")
	awaitPods(func(got []pods.Pod, _ bool) bool { return len(got) == 1 && got[0].Terminating })
	send("DELETED")
	awaitPods(func(got []pods.Pod, _ bool) bool { return len(got) == 0 })
}
