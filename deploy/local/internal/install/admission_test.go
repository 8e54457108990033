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

// wish is a row of the table that the admission policies and growth/gpushare share.
type wish struct {
	Name        string            `json:"name"`
	Annotations map[string]string `json:"annotations"`
	Limit       string            `json:"limit"`   // written by the user himself
	Units       int               `json:"units"`   // what the pod's limit becomes
	Refused     string            `json:"refused"` // what the sentence holds
	PodOnly     bool              `json:"podOnly"` // cannot be told from the annotations alone
}

func wishes(t *testing.T) []wish {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(admissionFolder, "testdata", "cases.json"))
	require.NoError(t, err)
	var all []wish
	require.NoError(t, json.Unmarshal(content, &all))
	require.NotEmpty(t, all)
	return all
}

func TestTheBinariesReadWishesAsTheTableSays(t *testing.T) {
	for _, w := range wishes(t) {
		t.Run(w.Name, func(t *testing.T) {
			parsed, err := gpushare.Parse(w.Annotations)
			if w.Refused != "" && !w.PodOnly {
				require.ErrorContains(t, err, w.Refused)
				return
			}
			require.NoError(t, err)
			if !w.PodOnly {
				require.Equal(t, w.Units, gpushare.Units(parsed.Memory, growth.GiB)*parsed.Count)
			}
		})
	}
}

func TestTheAPIServerReadsWishesAsTheTableSays(t *testing.T) {
	api := startAPIServer(t)
	api.apply(t, admissionFolder)
	api.settle(t)

	for _, w := range wishes(t) {
		t.Run(w.Name, func(t *testing.T) {
			pod, refused := api.submit(t, w)
			if w.Refused != "" {
				require.Contains(t, refused, w.Refused)
				return
			}
			require.Empty(t, refused)
			require.Equal(t, gpushare.SchedulerName, pod.Spec.SchedulerName)
			resources := pod.Spec.Containers[0].Resources
			want := map[string]string{"cpu": "1", gpushare.Resource: strconv.Itoa(w.Units)}
			require.Equal(t, want, resources.Limits)
			require.Equal(t, want, resources.Requests)
		})
	}
	t.Run("a pod may ask by its limit alone", func(t *testing.T) {
		pod, refused := api.submit(t, wish{Limit: "3"})
		require.Empty(t, refused)
		require.Equal(t, gpushare.SchedulerName, pod.Spec.SchedulerName)
		require.Empty(t, pod.Metadata.Annotations)
		require.Equal(t, "3", pod.Spec.Containers[0].Resources.Limits[gpushare.Resource])
	})
	t.Run("a pod that asks for nothing is left alone", func(t *testing.T) {
		pod, refused := api.submit(t, wish{})
		require.Empty(t, refused)
		require.Equal(t, "default-scheduler", pod.Spec.SchedulerName)
		require.Equal(t, map[string]string{"cpu": "1"}, pod.Spec.Containers[0].Resources.Limits)
	})
}

// pod is what we look at of a pod.
type pod struct {
	Metadata struct{ Annotations map[string]string }
	Spec     struct {
		SchedulerName string
		Containers    []struct {
			Resources struct{ Limits, Requests map[string]string }
		}
	}
}

// submit creates the wish's pod as a dry run, and returns it or the sentence it was refused with.
func (a apiServer) submit(t *testing.T, w wish) (admitted pod, refused string) {
	t.Helper()
	limits := map[string]string{"cpu": "1"}
	if w.Limit != "" {
		limits[gpushare.Resource] = w.Limit
	}
	body, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"name": "p", "annotations": w.Annotations},
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
