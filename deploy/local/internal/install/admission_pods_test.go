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

// podCase is a row of the tables of whole pods. Each table checks one field of the admitted pod.
type podCase struct {
	Name        string            `json:"name"`
	Annotations map[string]string `json:"annotations"` // a request of 1 GiB where none are given
	Spec        json.RawMessage   `json:"spec"`
	Refused     string            `json:"refused"` // part of the message
	Warned      string            `json:"warned"`  // part of the only warning
	Tolerations []string          `json:"tolerations"`
	Threads     map[string]string `json:"threads"` // OMP_NUM_THREADS by container
	Scheduler   string            `json:"scheduler"`
}

// podSpecification is the part of an admitted pod that these tables check.
type podSpecification struct {
	SchedulerName              string
	Tolerations                []toleration
	InitContainers, Containers []podContainer
}

type podContainer struct {
	Name string
	Env  []map[string]any
}

type toleration struct{ Key, Operator, Value, Effect string }

// String formats a toleration as kubectl taint writes the taint.
func (t toleration) String() string {
	text := t.Key
	if t.Value != "" {
		text += "=" + t.Value
	}
	if t.Effect != "" {
		text += ":" + t.Effect
	}
	return text
}

// create submits the row's pod as a dry run.
func (a apiServer) create(t *testing.T, c podCase) (spec podSpecification, refused string, warnings []string) {
	t.Helper()
	if c.Annotations == nil {
		c.Annotations = map[string]string{gpushare.MemoryAnnotation: "1"}
	}
	body, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "p", "annotations": c.Annotations}, "spec": c.Spec,
	})
	require.NoError(t, err)
	code, answer, warnings := a.warned(t, "/api/v1/namespaces/default/pods?dryRun=All", body)
	if code != http.StatusCreated {
		return spec, message(t, answer), warnings
	}
	var pod struct{ Spec podSpecification }
	require.NoError(t, json.Unmarshal(answer, &pod))
	return pod.Spec, "", warnings
}

func TestAdmission_AgreesWithTheTablesOfPods(t *testing.T) {
	api := startAPIServer(t)
	api.apply(t, admissionFolder)
	api.settle(t)
	for file, check := range map[string]func(*testing.T, podCase, podSpecification){
		"environment.json": func(*testing.T, podCase, podSpecification) {},
		"tolerations.json": func(t *testing.T, c podCase, spec podSpecification) {
			tolerations := []string{}
			for _, one := range spec.Tolerations {
				if !strings.HasPrefix(one.Key, "node.kubernetes.io/") { // set by the API server
					tolerations = append(tolerations, one.String())
				}
			}
			require.Equal(t, c.Tolerations, tolerations)
		},
		"threads.json": func(t *testing.T, c podCase, spec podSpecification) {
			require.Equal(t, c.Threads, threads(t, spec))
			var given podSpecification
			require.NoError(t, json.Unmarshal(c.Spec, &given))
			for i, container := range given.Containers {
				for k, variable := range container.Env {
					require.Equal(t, variable, spec.Containers[i].Env[k], "the user's variables come first")
				}
			}
		},
		"schedulers.json": func(t *testing.T, c podCase, spec podSpecification) {
			require.Equal(t, c.Scheduler, spec.SchedulerName)
		},
	} {
		t.Run(file, func(t *testing.T) {
			for _, c := range table[podCase](t, file) {
				t.Run(c.Name, func(t *testing.T) {
					spec, refused, warnings := api.create(t, c)
					if c.Refused != "" {
						require.Contains(t, refused, c.Refused)
						return
					}
					require.Empty(t, refused)
					if c.Warned == "" {
						require.Empty(t, warnings)
					} else {
						require.Len(t, warnings, 1)
						require.Contains(t, strings.ReplaceAll(warnings[0], `\"`, `"`), c.Warned)
					}
					check(t, c, spec)
				})
			}
		})
	}
}

// threads returns OMP_NUM_THREADS by container. All variables of a container that Trellis sets have the same value.
func threads(t *testing.T, spec podSpecification) map[string]string {
	t.Helper()
	var found map[string]string
	for _, c := range append(spec.InitContainers, spec.Containers...) {
		values := map[any]any{}
		for _, e := range c.Env {
			values[e["name"]] = e["value"]
		}
		omp, set := values["OMP_NUM_THREADS"].(string)
		if !set {
			continue
		}
		if found == nil {
			found = map[string]string{}
		}
		found[c.Name] = omp
		if values["MKL_NUM_THREADS"] == nil {
			continue // the user's own
		}
		for _, name := range gpushare.ThreadVariables() {
			require.Equal(t, omp, values[name], name)
		}
	}
	return found
}

// unknown is a row of the table of unknown annotations.
type unknown struct {
	Name       string `json:"name"`
	Annotation string `json:"annotation"`
	Nearest    string `json:"nearest"`
}

func TestAdmission_NamesTheNearestAnnotation(t *testing.T) {
	api := startAPIServer(t)
	api.apply(t, admissionFolder)
	api.settle(t)
	mine := containersCase{Memory: "8Gi", Containers: []member{{Name: "train"}}}
	code, answer := api.post(t, "/api/v1/namespaces/default/pods", mine.body(t))
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
