package install_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/gpushare/aliyun"
)

// template is what the tests read of a Job.
type template struct {
	Spec struct {
		Template struct {
			Spec struct {
				SchedulerName string
				Containers    []struct {
					Name      string
					Resources struct{ Limits map[string]string }
				}
			}
		}
	}
}

// job creates a Job as a dry run. Its second container is the default container if the annotations say so.
func (a apiServer) job(t *testing.T, annotations, limits map[string]string) template {
	t.Helper()
	body, err := json.Marshal(map[string]any{
		"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"name": "j"},
		"spec": map[string]any{"template": map[string]any{
			"metadata": map[string]any{"annotations": annotations},
			"spec": map[string]any{"restartPolicy": "Never", "containers": []any{
				map[string]any{"name": "train", "image": "i", "resources": map[string]any{"limits": limits}},
				map[string]any{"name": "other", "image": "i"},
			}},
		}},
	})
	require.NoError(t, err)
	code, answer := a.post(t, "/apis/batch/v1/namespaces/default/jobs?dryRun=All", body)
	require.Equal(t, http.StatusCreated, code, string(answer))
	var created template
	require.NoError(t, json.Unmarshal(answer, &created))
	require.Len(t, created.Spec.Template.Spec.Containers, 2)
	return created
}

// settleJobs waits until the API server applies the policy of Jobs.
func (a apiServer) settleJobs(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		created := a.job(t, map[string]string{gpushare.MemoryAnnotation: "1"}, nil)
		return len(created.Spec.Template.Spec.Containers[0].Resources.Limits) > 0
	}, 30*time.Second, 200*time.Millisecond)
}

// TestKueue_TemplatesOfJobsGetTheLimit checks that a Job's template requests what its pods will request.
func TestKueue_TemplatesOfJobsGetTheLimit(t *testing.T) {
	api := startAPIServer(t)
	api.install(t, policies(t, rendered(t, "kueue")))
	api.settleJobs(t)
	for _, r := range requests(t) {
		if r.Refused != "" {
			continue // its pods are refused
		}
		t.Run(r.Name, func(t *testing.T) {
			limits := map[string]string{"cpu": "1"}
			if r.Limit != "" {
				limits[gpushare.Resource] = r.Limit
			}
			created := api.job(t, r.Annotations, limits)
			containers := created.Spec.Template.Spec.Containers
			require.Equal(t, map[string]string{"cpu": "1", gpushare.Resource: strconv.Itoa(r.Units)}, containers[0].Resources.Limits)
			require.Empty(t, containers[1].Resources.Limits)
		})
	}
	t.Run("the default container gets it", func(t *testing.T) {
		created := api.job(t, map[string]string{gpushare.MemoryAnnotation: "5Gi", "kubectl.kubernetes.io/default-container": "other"}, nil)
		containers := created.Spec.Template.Spec.Containers
		require.Empty(t, containers[0].Resources.Limits)
		require.Equal(t, map[string]string{gpushare.Resource: "5"}, containers[1].Resources.Limits)
	})
	t.Run("a value that is no amount stays for the pods to be refused", func(t *testing.T) {
		created := api.job(t, map[string]string{gpushare.MemoryAnnotation: "lots"}, nil)
		require.Empty(t, created.Spec.Template.Spec.Containers[0].Resources.Limits)
	})
	t.Run("a Job without a share does not change", func(t *testing.T) {
		created := api.job(t, nil, map[string]string{"cpu": "1"})
		require.Equal(t, map[string]string{"cpu": "1"}, created.Spec.Template.Spec.Containers[0].Resources.Limits)
		require.Equal(t, "default-scheduler", created.Spec.Template.Spec.SchedulerName)
	})
}

func TestKueue_CountsTheResourceOfTheCluster(t *testing.T) {
	api := startAPIServer(t)
	api.install(t, policies(t, rendered(t, "kueue", "gpushare-compat")))
	api.settleJobs(t)
	created := api.job(t, map[string]string{gpushare.MemoryAnnotation: "5Gi"}, nil)
	require.Equal(t, map[string]string{aliyun.Resource: "5"}, created.Spec.Template.Spec.Containers[0].Resources.Limits)
}
