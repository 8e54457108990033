package install_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// containersCase is a row of the table of pods with several containers.
type containersCase struct {
	Name       string            `json:"name"`
	Memory     string            `json:"memory"`
	Default    string            `json:"default"` // the pod's default container
	Init       []member          `json:"init"`
	Containers []member          `json:"containers"`
	Want       map[string]string `json:"want"` // limit by container, none for the others
	Refused    string            `json:"refused"`
}

// member is a container: the limit that the user wrote, and whether an init container stays.
type member struct {
	Name  string `json:"name"`
	Limit string `json:"limit"`
	Stays bool   `json:"stays"`
}

// update is a row of the table of changes to the annotations of an existing pod.
type update struct {
	Name        string             `json:"name"`
	As          string             `json:"as"` // the user, an administrator where empty
	Subresource string             `json:"subresource"`
	Change      map[string]*string `json:"change"`
	Refused     string             `json:"refused"`
}

func table[T any](t *testing.T, name string) []T {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(admissionFolder, "testdata", name))
	require.NoError(t, err)
	var rows []T
	require.NoError(t, json.Unmarshal(content, &rows))
	require.NotEmpty(t, rows)
	return rows
}

func TestAdmission_SetsTheLimitOfOneContainer(t *testing.T) {
	api := startAPIServer(t)
	api.apply(t, admissionFolder)
	api.settle(t)
	for _, c := range table[containersCase](t, "containers.json") {
		t.Run(c.Name, func(t *testing.T) {
			code, answer := api.post(t, "/api/v1/namespaces/default/pods?dryRun=All", c.body(t))
			if c.Refused != "" {
				require.NotEqual(t, http.StatusCreated, code)
				require.Contains(t, message(t, answer), c.Refused)
				return
			}
			require.Equal(t, http.StatusCreated, code, string(answer))
			var pod struct {
				Spec struct{ InitContainers, Containers []container }
			}
			require.NoError(t, json.Unmarshal(answer, &pod))
			limits := map[string]string{}
			for _, c := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
				if limit, given := c.Resources.Limits[gpushare.Resource]; given {
					limits[c.Name] = limit
				}
			}
			require.Equal(t, c.Want, limits)
		})
	}
}

func TestAdmission_ProtectsAnnotationsOfTrellis(t *testing.T) {
	api := startAPIServer(t)
	api.apply(t, admissionFolder)
	api.settle(t)
	mine := containersCase{Memory: "8Gi", Containers: []member{{Name: "train"}}}
	code, answer := api.post(t, "/api/v1/namespaces/default/pods", mine.body(t))
	require.Equal(t, http.StatusCreated, code, string(answer))
	api.allow(t, "system:serviceaccount:trellis:coordinator", "system:serviceaccount:trellis:extender",
		"system:serviceaccount:trellis:tuner", "system:serviceaccount:default:coordinator")
	for _, u := range table[update](t, "updates.json") {
		t.Run(u.Name, func(t *testing.T) {
			body, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": u.Change}})
			require.NoError(t, err)
			path := "/api/v1/namespaces/default/pods/p"
			if u.Subresource != "" {
				path += "/" + u.Subresource
			}
			code, answer := api.patch(t, path+"?dryRun=All", u.As, body)
			if u.Refused != "" {
				require.NotEqual(t, http.StatusOK, code)
				require.Contains(t, message(t, answer), u.Refused)
				return
			}
			require.Equal(t, http.StatusOK, code, string(answer))
		})
	}
}

// Only the extender creates pods with an annotation of Trellis: rejected pods once more, with the count of rejections.
func TestAdmission_ProtectsTheCountOfRejections(t *testing.T) {
	const extender, coordinator = "system:serviceaccount:trellis:extender", "system:serviceaccount:trellis:coordinator"
	api := startAPIServer(t)
	api.apply(t, admissionFolder)
	api.settle(t)
	api.allow(t, extender, coordinator, "system:serviceaccount:default:extender")
	create := func(as string, annotations map[string]string) (int, []byte) {
		body, err := json.Marshal(map[string]any{
			"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "again", "annotations": annotations},
			"spec": map[string]any{"containers": []any{map[string]any{
				"name": "c", "image": "i", "resources": map[string]any{"limits": map[string]string{gpushare.Resource: "3"}},
			}}},
		})
		require.NoError(t, err)
		return api.send(t, http.MethodPost, "application/json", "/api/v1/namespaces/default/pods?dryRun=All", as, body)
	}
	require.Eventually(t, func() bool {
		code, _ := create(extender, nil)
		return code == http.StatusCreated
	}, 10*time.Second, 50*time.Millisecond, "its rights count")
	count := map[string]string{gpushare.RefusalsAnnotation: "1"}
	both := map[string]string{gpushare.MemoryAnnotation: "3", gpushare.RefusalsAnnotation: "1"}
	const refused = "gpushare/refusals are written by Trellis"
	for name, tc := range map[string]struct {
		as          string // an administrator where empty
		annotations map[string]string
		refused     string
	}{
		"by a user":                                  {"", both, refused},
		"by a user, of a pod with limits only":       {"", count, refused},
		"by the coordinator":                         {coordinator, both, refused},
		"by an account of that name elsewhere":       {"system:serviceaccount:default:extender", count, refused},
		"by the extender":                            {extender, both, ""},
		"by the extender, of a pod with limits only": {extender, count, ""},
		"with a GPU, by the extender": {
			extender, map[string]string{gpushare.MemoryAnnotation: "3", gpushare.RefusalsAnnotation: "1", gpushare.GPUAnnotation: "GPU-a"}, "written by Trellis",
		},
		"of a request that is invalid, by the extender": {
			extender, map[string]string{gpushare.MemoryAnnotation: "lots", gpushare.RefusalsAnnotation: "1"}, "is not an amount of GPU memory",
		},
	} {
		t.Run(name, func(t *testing.T) {
			code, answer := create(tc.as, tc.annotations)
			if tc.refused != "" {
				require.NotEqual(t, http.StatusCreated, code)
				require.Contains(t, message(t, answer), tc.refused)
				return
			}
			require.Equal(t, http.StatusCreated, code, string(answer))
		})
	}
}

type container struct {
	Name      string
	Resources struct{ Limits map[string]string }
}

// body is the row's pod.
func (c containersCase) body(t *testing.T) []byte {
	t.Helper()
	list := func(members []member) []any {
		all := []any{}
		for _, m := range members {
			one := map[string]any{"name": m.Name, "image": "i"}
			if m.Limit != "" {
				one["resources"] = map[string]any{"limits": map[string]string{gpushare.Resource: m.Limit}}
			}
			if m.Stays {
				one["restartPolicy"] = "Always"
			}
			all = append(all, one)
		}
		return all
	}
	annotations := map[string]string{gpushare.MemoryAnnotation: c.Memory}
	if c.Default != "" {
		annotations["kubectl.kubernetes.io/default-container"] = c.Default
	}
	body, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "p", "annotations": annotations},
		"spec": map[string]any{"initContainers": list(c.Init), "containers": list(c.Containers)},
	})
	require.NoError(t, err)
	return body
}

// settle waits until the policies are in force, a moment after they are created.
func (a apiServer) settle(t *testing.T) {
	t.Helper()
	share := map[string]string{gpushare.MemoryAnnotation: "1"}
	spec := func(more string) podCase {
		return podCase{Annotations: share, Spec: json.RawMessage(`{"containers": [{"name": "c", "image": "i",
			"resources": {"requests": {"cpu": "1"}}` + more + `}], "schedulerName": "other"}`)}
	}
	require.Eventually(t, func() bool {
		_, invalid := a.submit(t, request{Annotations: map[string]string{gpushare.MemoryAnnotation: "none"}})
		_, misspelt := a.submit(t, request{Annotations: map[string]string{"gpushare/x": ""}})
		_, replaced, _ := a.create(t, spec(`, "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]`))
		pod, _ := a.submit(t, request{Annotations: share})
		changed, _, warnings := a.create(t, spec(""))
		return invalid != "" && misspelt != "" && replaced != "" && pod.Spec.SchedulerName == gpushare.SchedulerName &&
			len(changed.Tolerations) > 2 && len(changed.Containers[0].Env) > 0 && len(warnings) > 0
	}, 30*time.Second, 200*time.Millisecond)
}

// allow lets accounts change pods.
func (a apiServer) allow(t *testing.T, users ...string) {
	t.Helper()
	subjects := []any{}
	for _, user := range users {
		subjects = append(subjects, map[string]string{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": user})
	}
	body, err := json.Marshal(map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": map[string]string{"name": "test"},
		"roleRef": map[string]string{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}, "subjects": subjects,
	})
	require.NoError(t, err)
	code, answer := a.post(t, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", body)
	require.Equal(t, http.StatusCreated, code, string(answer))
}

func message(t *testing.T, answer []byte) string {
	t.Helper()
	var status struct{ Message string }
	require.NoError(t, json.Unmarshal(answer, &status))
	return status.Message
}
