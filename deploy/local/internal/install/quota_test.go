package install_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const team = "/api/v1/namespaces/team/"

// TestQuota_CountsTheUnitsOfTheAnnotation limits a namespace to 6 units of GPU memory. Annotations of 2 GiB and 2.5 GiB take 5 of
// them. A third pod is refused, and a Job creates its pod when another one has gone.
func TestQuota_CountsTheUnitsOfTheAnnotation(t *testing.T) {
	api := startAPIServer(t)
	api.apply(t, admissionFolder)
	api.settle(t)
	controllers, err := api.plane.Controllers(testToken, "resourcequota-controller", "job-controller")
	require.NoError(t, err)
	t.Cleanup(controllers.Kill)
	api.install(t, []byte(`
apiVersion: v1
kind: Namespace
metadata: {name: team}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: gpu, namespace: team}
spec: {hard: {requests.gpushare/gpu-mem: "6"}}
`))
	require.Eventually(t, func() bool { return api.used(t) == "0" }, time.Minute, 100*time.Millisecond, controllers.Output())

	for name, memory := range map[string]string{"small": "2Gi", "large": "2.5Gi"} {
		code, answer := api.post(t, team+"pods", sharePod(name, memory))
		require.Equal(t, http.StatusCreated, code, string(answer))
	}
	code, answer := api.post(t, team+"pods", sharePod("third", "2Gi"))
	require.Equal(t, http.StatusForbidden, code)
	const numbers = "exceeded quota: gpu, requested: requests.gpushare/gpu-mem=2, used: requests.gpushare/gpu-mem=5, limited: requests.gpushare/gpu-mem=6"
	require.Contains(t, message(t, answer), numbers)

	job := fmt.Appendf(nil, `{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "queued"}, "spec": {"template": %s}}`, sharePod("", "2Gi"))
	code, answer = api.post(t, "/apis/batch/v1/namespaces/team/jobs", job)
	require.Equal(t, http.StatusCreated, code, string(answer))
	require.Eventually(t, func() bool { return strings.Contains(string(api.get(t, team+"events")), numbers) }, time.Minute, 100*time.Millisecond,
		"the Job has an event with the numbers")
	code, answer, err = api.do(http.MethodDelete, team+"pods/small", nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, code, string(answer))
	require.Eventually(t, func() bool { return strings.Contains(string(api.get(t, team+"pods")), `"queued-`) }, 2*time.Minute, 500*time.Millisecond,
		"the Job creates its pod")
	require.Equal(t, "5", api.used(t))
}

// sharePod is a pod, or the template of one, that asks for a share by annotation.
func sharePod(name, memory string) []byte {
	return fmt.Appendf(nil, `{"metadata": {"name": %q, "annotations": {"gpushare/gpu-mem": %q}},
		"spec": {"restartPolicy": "Never", "containers": [{"name": "train", "image": "i"}]}}`, name, memory)
}

// used returns the units that count against the quota.
func (a apiServer) used(t *testing.T) string {
	t.Helper()
	var quota struct {
		Status struct{ Used map[string]string }
	}
	require.NoError(t, json.Unmarshal(a.get(t, team+"resourcequotas/gpu"), &quota))
	return quota.Status.Used["requests.gpushare/gpu-mem"]
}

func (a apiServer) get(t *testing.T, path string) []byte {
	t.Helper()
	code, answer, err := a.do(http.MethodGet, path, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, code, string(answer))
	return answer
}
