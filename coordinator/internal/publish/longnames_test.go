package publish_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/trellis-gpu/trellis/coordinator/internal/publish"
	"github.com/trellis-gpu/trellis/growth"
)

// TestEvent_LongNames records events of two pods with names of 253 characters that differ in the last one. The name of an
// event has the same limit, so the pod's name cannot be a part of it.
func TestEvent_LongNames(t *testing.T) {
	namespace := strings.Repeat("n", 63)
	name := strings.Repeat("p", 252)
	client := fake.NewClientset()
	recorder, stop := publish.Recorder(client, "node-1")
	defer stop()
	pods := publish.NewPods(nil, recorder, silent)
	for _, end := range []string{"a", "b"} {
		pods.Event(growth.PodRef{Namespace: namespace, Name: name + end, UID: growth.PodUID("uid-" + end)}, false, "JobArrived", end)
	}
	messages := map[string]string{}
	require.Eventually(t, func() bool {
		events, err := client.CoreV1().Events(namespace).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		for _, e := range events.Items {
			require.Empty(t, validation.IsDNS1123Subdomain(e.Name), "the API server accepts the name")
			messages[e.InvolvedObject.Name] = e.Message
		}
		return len(events.Items) == 2
	}, 10*time.Second, 5*time.Millisecond)
	require.Equal(t, map[string]string{name + "a": "a", name + "b": "b"}, messages)
}
