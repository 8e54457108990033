package conflict_test

import (
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/trellis-gpu/trellis/extender/internal/conflict"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/gpushare/aliyun"
)

func extender(component string, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "theirs", Labels: map[string]string{"app": "gpushare", "component": component}},
		Status:     corev1.PodStatus{Phase: phase},
	}
}

func watch(resource corev1.ResourceName, pods ...runtime.Object) conflict.Watch {
	return conflict.Watch{Client: fake.NewClientset(pods...), Resource: resource, Log: slog.New(slog.DiscardHandler)}
}

func TestGpusharesExtenderIsNamed(t *testing.T) {
	running := extender("gpushare-schd-extender", corev1.PodRunning)
	for name, tc := range map[string]struct {
		resource corev1.ResourceName
		pod      *corev1.Pod
		found    bool
	}{
		"it runs":                 {aliyun.Resource, running, true},
		"it waits for its image":  {aliyun.Resource, extender("gpushare-schd-extender", corev1.PodPending), false},
		"it has ended":            {aliyun.Resource, extender("gpushare-schd-extender", corev1.PodFailed), false},
		"its device plugin":       {aliyun.Resource, extender("gpushare-device-plugin", corev1.PodRunning), false},
		"it serves what we don't": {gpushare.Resource, running, false},
	} {
		err := watch(tc.resource, tc.pod).Once(t.Context())
		if !tc.found {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorIs(t, err, conflict.ErrFound, name)
		require.ErrorContains(t, err, "kube-system/theirs", name)
		require.ErrorContains(t, err, "scale its Deployment to 0", name)
	}
}

func TestOneThatComesLaterIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch(aliyun.Resource)
		ended := make(chan error, 1)
		go func() { ended <- w.Run(t.Context()) }()
		synctest.Wait()
		_, err := w.Client.CoreV1().Pods("kube-system").Create(t.Context(), extender("gpushare-schd-extender", corev1.PodRunning), metav1.CreateOptions{})
		require.NoError(t, err)
		require.ErrorIs(t, <-ended, conflict.ErrFound)
	})
}

func TestAnAPIServerThatIsAwayHidesNobody(t *testing.T) {
	client := fake.NewClientset()
	client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("connection refused")
	})
	require.NoError(t, conflict.Watch{Client: client, Resource: aliyun.Resource, Log: slog.New(slog.DiscardHandler)}.Once(t.Context()))
}
