package workers

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/bus/membus"
	"github.com/trellis-gpu/trellis/growth/elastic"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// elasticPod is in the snapshot of the cluster.
type elasticPod struct{ growth.PodRef }

func (p elasticPod) Snapshot() *cache.Snapshot {
	s := &cache.Snapshot{Synced: true}
	s.Pods = s.Pods.With(slices.Values([]growth.PodUID{p.UID}), func(growth.PodUID) (*request.Pod, bool) {
		return &request.Pod{Ref: p.PodRef, Elastic: true}, true
	})
	return s
}

// newChanger returns a Changer of a Job with one running pod, for which the tuner recommends two workers.
func newChanger(t *testing.T, completions *int32) *Changer {
	one, yes := int32(1), true
	owner := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "job", UID: "job-uid"},
		Spec:       batchv1.JobSpec{Parallelism: &one, Completions: completions},
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: "job-0", UID: "pod-uid",
			Annotations: map[string]string{
				gpushare.MemoryAnnotation: "1Gi", gpushare.ElasticAnnotation: "1-4", gpushare.TuneAnnotation: "workers",
			},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "job", UID: "job-uid", Controller: &yes}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	c := &Changer{
		Client:  fake.NewClientset(owner, pod),
		Bus:     membus.New().Session(),
		Cluster: elasticPod{request.Ref(pod)},
		Limits:  elastic.DefaultLimits(),
		Log:     slog.New(slog.DiscardHandler),
	}
	c.advise(t, 2)
	return c
}

// advise plays the tuner.
func (c *Changer) advise(t *testing.T, workers int) {
	value, err := bus.Encode(bus.Advice{Width: &bus.Width{Recommendation: elastic.Recommendation{Workers: workers, From: 1}}})
	require.NoError(t, err)
	_, err = c.Bus.Put(t.Context(), bus.AdviceKey("pod-uid"), value, bus.Persistent)
	require.NoError(t, err)
}

// reasons returns the reasons of the events that were written, and how often the API server was asked to write one.
func (c *Changer) reasons(t *testing.T) (reasons []string, asked int) {
	list, err := c.Client.CoreV1().Events("team").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for _, e := range list.Items {
		reasons = append(reasons, e.Reason)
	}
	for _, action := range c.Client.(*fake.Clientset).Actions() {
		if action.Matches("create", "events") {
			asked++
		}
	}
	return reasons, asked
}

// A Job that lacks completions for the recommended number keeps its own. An event says why, once.
func TestChanger_ExplainsWhatAnOwnerCannotHave(t *testing.T) {
	one := int32(1)
	for name, tc := range map[string]struct {
		completions *int32
		advised     []int // in each pass
		want        string
		asked       int
	}{
		"a Job without completions":  {nil, []int{2, 2, 2}, "WorkersChanging", 1},
		"one completion":             {&one, []int{2, 2, 2}, "WorkersNotChanged", 1},
		"another number":             {&one, []int{2, 3, 3}, "WorkersNotChanged", 2},
		"nothing is recommended":     {&one, []int{0, 0}, "", 0},
		"a number out of the range":  {&one, []int{5, 5}, "", 0},
		"the present number is fine": {&one, []int{1, 1}, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := newChanger(t, tc.completions)
			for i, advised := range tc.advised {
				c.advise(t, advised)
				require.NoError(t, c.Pass(t.Context(), noon.Add(time.Duration(i)*interval)))
			}
			reasons, asked := c.reasons(t)
			require.Equal(t, tc.asked, asked)
			if tc.want == "" {
				require.Empty(t, reasons)
				return
			}
			require.Equal(t, []string{tc.want}, reasons)
		})
	}
}
