package podevents_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/trellis-gpu/trellis/extender/internal/podevents"
	"github.com/trellis-gpu/trellis/growth"
)

func TestWriteOnce_ReplicasWriteOneEvent(t *testing.T) {
	client := fake.NewClientset()
	pod := growth.PodRef{Namespace: "team", Name: strings.Repeat("p", 253), UID: "u"}
	for range 2 { // replicas
		podevents.Writer{Client: client, Log: slog.New(slog.DiscardHandler)}.WriteOnce(t.Context(), pod, corev1.EventTypeWarning, "Reason", "text")
	}
	events, err := client.CoreV1().Events("team").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, events.Items, 1)
	require.LessOrEqual(t, len(events.Items[0].Name), 253)

	podevents.Writer{Client: client, Log: slog.New(slog.DiscardHandler)}.WriteOnce(t.Context(), pod, corev1.EventTypeWarning, "Other", "text")
	events, err = client.CoreV1().Events("team").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, events.Items, 2, "an event of another reason is another one")
	require.LessOrEqual(t, len(events.Items[0].Name), 253)
	require.Equal(t, pod.Name, events.Items[0].InvolvedObject.Name)
	require.Equal(t, "trellis-extender", events.Items[0].ReportingController)
}
