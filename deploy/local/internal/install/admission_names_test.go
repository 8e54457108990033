package install_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// unknown is a row of the table of unknown annotations.
type unknown struct {
	Name       string `json:"name"`
	Annotation string `json:"annotation"`
	Nearest    string `json:"nearest"`
}

func TestAdmission_NamesTheNearestAnnotation(t *testing.T) {
	api := startAPIServer(t)
	older := []byte(`{"metadata": {"name": "older", "annotations": {"gpushare/mem": "1"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}`)
	code, answer := api.post(t, "/api/v1/namespaces/default/pods", older)
	require.Equal(t, http.StatusCreated, code, string(answer))
	api.apply(t, admissionFolder)
	api.settle(t)
	t.Run("a pod that is older than the policy may change", func(t *testing.T) {
		body := []byte(`{"metadata": {"annotations": {"team": "vision", "gpushare/mem": "2"}}}`)
		code, answer := api.patch(t, "/api/v1/namespaces/default/pods/older", "", body)
		require.Equal(t, http.StatusOK, code, string(answer))
	})
	mine := containersCase{Memory: "8Gi", Containers: []member{{Name: "train"}}}
	code, answer = api.post(t, "/api/v1/namespaces/default/pods", mine.body(t))
	require.Equal(t, http.StatusCreated, code, string(answer))
	for _, u := range table[unknown](t, "names.json") {
		t.Run(u.Name, func(t *testing.T) {
			want := gpushare.UnknownMessage(u.Annotation)
			require.Equal(t, u.Nearest, gpushare.Nearest(u.Annotation))
			require.Equal(t, u.Nearest != "", strings.Contains(want, ": did you mean "+u.Nearest+"?"))
			for _, others := range []map[string]string{nil, {"gpushare/gpu-mem": "1"}, {"gpushare/metric": "loss:min"}} {
				annotations := map[string]string{u.Annotation: "x"}
				for name, value := range others {
					annotations[name] = value
				}
				_, refused := api.submit(t, request{Annotations: annotations})
				require.Contains(t, refused, want)
			}
			body, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{u.Annotation: "x"}}})
			require.NoError(t, err)
			code, answer := api.patch(t, "/api/v1/namespaces/default/pods/p?dryRun=All", "", body)
			require.NotEqual(t, http.StatusOK, code)
			require.Contains(t, message(t, answer), want)
		})
	}
}

// policy is the part of an admission policy that the tests of its lists check.
type policy struct {
	Spec struct {
		Variables []struct{ Name, Expression string }
	}
}

// variable returns the expression of a variable of a policy of the base.
func variable(t *testing.T, file, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(admissionFolder, file))
	require.NoError(t, err)
	var p policy
	require.NoError(t, yaml.Unmarshal([]byte(strings.Split(string(content), "\n---\n")[0]), &p))
	for _, v := range p.Spec.Variables {
		if v.Name == name {
			return v.Expression
		}
	}
	require.Fail(t, "no variable", "%s of %s", name, file)
	return ""
}

// A list of text in CEL is YAML too.
func list[T any](t *testing.T, expression string) []T {
	t.Helper()
	var found []T
	require.NoError(t, yaml.Unmarshal([]byte(expression), &found))
	return found
}

func TestAdmission_ListsAreThoseOfTheBinaries(t *testing.T) {
	require.Equal(t, append(gpushare.UserAnnotations(), gpushare.WrittenAnnotations()...), list[string](t, variable(t, "names.yaml", "known")))
	require.Equal(t, gpushare.ThreadVariables(), list[string](t, variable(t, "threads.yaml", "names")))
	for _, name := range append(gpushare.UserAnnotations(), gpushare.WrittenAnnotations()...) {
		require.Contains(t, variable(t, "validating.yaml", "misspelt"), "'"+name+"'")
	}
	for _, name := range gpushare.WrittenAnnotations() {
		if name == gpushare.AuthorityAnnotation {
			continue // on the pods of Trellis, and not read again
		}
		require.Contains(t, variable(t, "validating.yaml", "ours"), "'"+name+"'")
		require.Contains(t, variable(t, "unchanged.yaml", "written"), "'"+name+"'")
	}
}

func TestAdmission_ToleratesWhatTheDaemonSetsTolerate(t *testing.T) {
	want := list[toleration](t, variable(t, "tolerations.yaml", "usual"))
	require.NotEmpty(t, want)
	for _, name := range []string{"deviceplugin", "coordinator"} {
		content, err := os.ReadFile(filepath.Join(admissionFolder, "..", name, "daemonset.yaml"))
		require.NoError(t, err)
		var set struct {
			Spec struct {
				Template struct {
					Spec struct{ Tolerations []toleration }
				}
			}
		}
		require.NoError(t, yaml.Unmarshal(content, &set))
		critical := toleration{Key: "CriticalAddonsOnly", Operator: "Exists"} // no pod of a user needs this one
		require.Equal(t, append([]toleration{critical}, want...), set.Spec.Template.Spec.Tolerations, name)
	}
}
