package pods_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/ledger"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/pods"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

func asks(name, units string) corev1.Container {
	return corev1.Container{Name: name, Resources: corev1.ResourceRequirements{
		Limits: corev1.ResourceList{gpushare.Resource: resource.MustParse(units), corev1.ResourceCPU: resource.MustParse("1")},
	}}
}

func TestPodsAreFollowed(t *testing.T) {
	created := metav1.NewTime(time.Unix(7, 0))
	sidecar := asks("sidecar", "1")
	always := corev1.ContainerRestartPolicyAlways
	sidecar.RestartPolicy = &always
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "u", CreationTimestamp: created, Annotations: map[string]string{
			gpushare.MemoryAnnotation: "4Gi", gpushare.CountAnnotation: "2",
		}},
		Spec: corev1.PodSpec{
			NodeName:       "n1",
			InitContainers: []corev1.Container{asks("init", "4"), sidecar},
			Containers:     []corev1.Container{asks("main", "8"), {Name: "plain"}},
		},
	}
	client := fake.NewClientset()
	w, err := pods.New(client, "n1", gpushare.Resource, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	_, known := w.Pods()
	require.False(t, known)
	go func() { _ = w.Run(t.Context()) }()
	until := func(ok func([]ledger.Pod, bool) bool) {
		t.Helper()
		for {
			changed := w.Changed()
			if ok(w.Pods()) {
				return
			}
			select {
			case <-changed:
			case <-time.After(10 * time.Second):
				t.Fatal("no news of the pods")
			}
		}
	}
	until(func(got []ledger.Pod, known bool) bool { return known && len(got) == 0 })

	_, err = client.CoreV1().Pods("ns").Create(t.Context(), p, metav1.CreateOptions{})
	require.NoError(t, err)
	until(func(got []ledger.Pod, _ bool) bool { return len(got) == 1 })
	got, _ := w.Pods()
	require.Equal(t, ledger.Pod{
		Ref: growth.PodRef{Namespace: "ns", Name: "p", UID: "u"}, Created: created.Time, Count: 2,
		Containers: []ledger.Container{{Name: "init", Units: 4, Init: true}, {Name: "sidecar", Units: 1}, {Name: "main", Units: 8}},
	}, got[0])

	p.Status.Phase = corev1.PodSucceeded
	_, err = client.CoreV1().Pods("ns").UpdateStatus(t.Context(), p, metav1.UpdateOptions{})
	require.NoError(t, err)
	until(func(got []ledger.Pod, _ bool) bool { return len(got) == 1 && got[0].Finished })
	require.NoError(t, client.CoreV1().Pods("ns").Delete(t.Context(), "p", metav1.DeleteOptions{}))
	until(func(got []ledger.Pod, _ bool) bool { return len(got) == 0 })
}
