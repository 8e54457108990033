package submit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
	"github.com/trellis-gpu/trellis/benchmarks/internal/submit"
	"github.com/trellis-gpu/trellis/benchmarks/internal/training"
	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
	"github.com/trellis-gpu/trellis/benchmarks/jobs"
	"github.com/trellis-gpu/trellis/daemon/controlplanetest"
)

// A stock API server accepts the pods of a generated workload, and no job is submitted twice.
func TestSubmission_ToAStockAPIServer(t *testing.T) {
	dir := controlplanetest.StockDir()
	if dir == "" {
		t.Skip("needs TRELLIS_STOCK_DIR, a folder with etcd and kube-apiserver")
	}
	plane, err := controlplanetest.Start(t.Context(), controlplanetest.Options{
		StockDir:       dir,
		Dir:            t.TempDir(),
		Users:          []string{"admin"},
		APIServerFlags: []string{"--disable-admission-plugins=ServiceAccount"},
	})
	t.Cleanup(plane.Close)
	require.NoError(t, err)
	client, err := kubernetes.NewForConfig(&rest.Config{
		Host:            plane.URL,
		BearerToken:     "admin",
		TLSClientConfig: rest.TLSClientConfig{Insecure: true},
	})
	require.NoError(t, err)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "training"}} // no controller makes the account of a new one
	_, err = client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{})
	require.NoError(t, err)
	philly, err := workload.Philly(20, workload.Defaults{GPUMemory: "4Gi", CPU: 150, Seed: 1})
	require.NoError(t, err)
	scripts, err := jobs.Scripts()
	require.NoError(t, err)
	s := submit.Submission{
		Jobs:    philly.SpedUp(1000),
		Setup:   training.Setup{Namespace: "training", Run: "submit-1", Image: "torch:1", Python: "python3"},
		Scripts: scripts,
		Cluster: &cluster.Connection{Kubernetes: client},
		Say:     t.Logf,
	}
	began := time.Now()
	_, err = s.Do(t.Context())
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(began), s.Jobs[19].Arrival)
	pods, err := client.CoreV1().Pods("training").List(t.Context(), metav1.ListOptions{LabelSelector: training.RunLabel + "=submit-1"})
	require.NoError(t, err)
	require.Len(t, pods.Items, 20)
	_, err = s.Do(t.Context())
	require.ErrorContains(t, err, "has pods of the same names already")
}
