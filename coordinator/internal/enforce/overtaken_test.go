package enforce_test

import (
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/trellis-gpu/trellis/growth"
)

// interceptor calls write before the n-th patch is sent. The other requests are only forwarded.
type interceptor struct {
	http.RoundTripper
	n     int64
	count *atomic.Int64
	write func()
}

func (i interceptor) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPatch && i.count.Add(1) == i.n {
		i.write()
	}
	return i.RoundTripper.RoundTrip(r)
}

// overtaken checks that a real API server refuses a patch of a pod that has changed since the worker has read it.
func overtaken(t *testing.T, s stock, config *rest.Config) {
	status := func(name string) func() {
		return func() {
			patch := []byte(`{"status":{"message":"from kubelet"}}`)
			_, err := s.client.CoreV1().Pods(s.namespace).Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
			require.NoError(t, err)
		}
	}
	request := func(name string) func() { return func() { s.autoscale(name, "180m") } }
	for name, tc := range map[string]struct {
		patch    int64
		write    func(name string) func()
		conflict bool
		want     growth.MilliCPU
	}{
		"status-before-the-annotation":  {1, status, false, 300},
		"status-before-the-resize":      {2, status, false, 300},
		"request-before-the-annotation": {1, request, true, 180},
		"request-before-the-resize":     {2, request, true, 180},
	} {
		t.Run(name, func(t *testing.T) {
			s.create(name, "500m")
			racing := rest.CopyConfig(config)
			count := new(atomic.Int64)
			racing.Wrap(func(next http.RoundTripper) http.RoundTripper {
				return interceptor{RoundTripper: next, n: tc.patch, count: count, write: tc.write(name)}
			})
			client, err := kubernetes.NewForConfig(racing)
			require.NoError(t, err)
			got := s.resizeAs(client, s.read(name), 300)
			require.Equal(t, tc.conflict, got.Conflict(), "%v", got.Err)
			require.Equal(t, tc.conflict, got.Err != nil, "%v", got.Err)
			require.False(t, got.Gone())
			require.Equal(t, tc.want, s.read(name).Request())
		})
	}
}
