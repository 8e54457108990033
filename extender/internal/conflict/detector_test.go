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

func newDetector(resource corev1.ResourceName, pods ...runtime.Object) conflict.Detector {
	return conflict.Detector{Client: fake.NewClientset(pods...), Resource: resource, Log: slog.New(slog.DiscardHandler)}
}

func TestDetector_NamesOtherExtender(t *testing.T) {
	running := extender("gpushare-schd-extender", corev1.PodRunning)
	for name, tc := range map[string]struct {
		resource corev1.ResourceName
		pod      *corev1.Pod
		found    bool
	}{
		"running":          {aliyun.Resource, running, true},
		"pending":          {aliyun.Resource, extender("gpushare-schd-extender", corev1.PodPending), false},
		"ended":            {aliyun.Resource, extender("gpushare-schd-extender", corev1.PodFailed), false},
		"device plugin":    {aliyun.Resource, extender("gpushare-device-plugin", corev1.PodRunning), false},
		"another resource": {gpushare.Resource, running, false},
	} {
		err := newDetector(tc.resource, tc.pod).Check(t.Context())
		if !tc.found {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorIs(t, err, conflict.ErrFound, name)
		require.ErrorContains(t, err, "kube-system/theirs", name)
		require.ErrorContains(t, err, "scale its Deployment to 0", name)
	}
}

func TestDetector_RunNoticesLaterStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDetector(aliyun.Resource)
		ended := make(chan error, 1)
		go func() { ended <- d.Run(t.Context()) }()
		synctest.Wait()
		_, err := d.Client.CoreV1().Pods("kube-system").Create(t.Context(), extender("gpushare-schd-extender", corev1.PodRunning), metav1.CreateOptions{})
		require.NoError(t, err)
		require.ErrorIs(t, <-ended, conflict.ErrFound)
	})
}

func TestDetector_UnavailableAPIServerIsNoConflict(t *testing.T) {
	client := fake.NewClientset()
	client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("connection refused")
	})
	require.NoError(t, conflict.Detector{Client: client, Resource: aliyun.Resource, Log: slog.New(slog.DiscardHandler)}.Check(t.Context()))
}
