package install_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

const admissionFolder = "../../../base/admission"

// request is a row of the table that the admission policies and growth/gpushare are tested with.
type request struct {
	Name        string            `json:"name"`
	Annotations map[string]string `json:"annotations"`
	Limit       string            `json:"limit"`   // written by the user
	Units       int               `json:"units"`   // the resulting limit of the pod
	Refused     string            `json:"refused"` // part of the message
	PodOnly     bool              `json:"podOnly"` // the annotations alone do not show it
}

func requests(t *testing.T) []request {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(admissionFolder, "testdata", "cases.json"))
	require.NoError(t, err)
	var all []request
	require.NoError(t, json.Unmarshal(content, &all))
	require.NotEmpty(t, all)
	return all
}

func TestParse_AgreesWithTheTable(t *testing.T) {
	for _, r := range requests(t) {
		t.Run(r.Name, func(t *testing.T) {
			parsed, err := gpushare.Parse(r.Annotations)
			if r.Refused != "" && !r.PodOnly {
				require.ErrorContains(t, err, r.Refused)
				return
			}
			require.NoError(t, err)
			if !r.PodOnly {
				require.Equal(t, r.Units, gpushare.Units(parsed.Memory, growth.GiB)*parsed.Count)
			}
		})
	}
}

func TestAdmission_AgreesWithTheTable(t *testing.T) {
	api := startAPIServer(t)
	api.apply(t, admissionFolder)
	api.settle(t)

	for _, r := range requests(t) {
		t.Run(r.Name, func(t *testing.T) {
			pod, refused := api.submit(t, r)
			if r.Refused != "" {
				require.Contains(t, refused, r.Refused)
				return
			}
			require.Empty(t, refused)
			require.Equal(t, gpushare.SchedulerName, pod.Spec.SchedulerName)
			resources := pod.Spec.Containers[0].Resources
			want := map[string]string{"cpu": "1", gpushare.Resource: strconv.Itoa(r.Units)}
			require.Equal(t, want, resources.Limits)
			require.Equal(t, want, resources.Requests)
		})
	}
	t.Run("a pod may ask by its limit alone", func(t *testing.T) {
		pod, refused := api.submit(t, request{Limit: "3"})
		require.Empty(t, refused)
		require.Equal(t, gpushare.SchedulerName, pod.Spec.SchedulerName)
		require.Empty(t, pod.Metadata.Annotations)
		require.Equal(t, "3", pod.Spec.Containers[0].Resources.Limits[gpushare.Resource])
	})
	t.Run("a pod that asks for nothing is left alone", func(t *testing.T) {
		pod, refused := api.submit(t, request{})
		require.Empty(t, refused)
		require.Equal(t, "default-scheduler", pod.Spec.SchedulerName)
		require.Equal(t, map[string]string{"cpu": "1"}, pod.Spec.Containers[0].Resources.Limits)
	})
}

// pod is the part of a pod that the tests check.
type pod struct {
	Metadata struct{ Annotations map[string]string }
	Spec     struct {
		SchedulerName string
		Containers    []struct {
			Resources struct{ Limits, Requests map[string]string }
		}
	}
}

// submit creates the request's pod as a dry run. It returns the admitted pod or the message of the refusal.
func (a apiServer) submit(t *testing.T, r request) (admitted pod, refused string) {
	t.Helper()
	limits := map[string]string{"cpu": "1"}
	if r.Limit != "" {
		limits[gpushare.Resource] = r.Limit
	}
	body, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"name": "p", "annotations": r.Annotations},
		"spec": map[string]any{"containers": []any{
			map[string]any{"name": "c", "image": "i", "resources": map[string]any{"limits": limits}},
		}},
	})
	require.NoError(t, err)
	code, answer := a.post(t, "/api/v1/namespaces/default/pods?dryRun=All", body)
	if code == http.StatusCreated {
		require.NoError(t, json.Unmarshal(answer, &admitted))
		return admitted, ""
	}
	var status struct{ Message string }
	require.NoError(t, json.Unmarshal(answer, &status))
	return pod{}, status.Message
}
