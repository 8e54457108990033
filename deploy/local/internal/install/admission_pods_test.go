package install_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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

// The policy checks containers that are added to a running pod, not those that it has already.
func TestAdmission_ChecksTheEnvironmentOfEphemeralContainers(t *testing.T) {
	api := startAPIServer(t)
	code, answer := api.post(t, "/api/v1/namespaces/default/pods", sharePod("running", "1Gi"))
	require.Equal(t, http.StatusCreated, code, string(answer))
	debug := func(containers string) (int, string) {
		code, answer := api.patch(t, "/api/v1/namespaces/default/pods/running/ephemeralcontainers", "", []byte(`{"spec": {"ephemeralContainers": [`+containers+`]}}`))
		return code, string(answer)
	}
	const older = `{"name": "older", "image": "i", "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]}`
	code, text := debug(older)
	require.Equal(t, http.StatusOK, code, text)

	api.apply(t, admissionFolder)
	api.settle(t)
	code, text = debug(older + `, {"name": "debug", "image": "i", "env": [{"name": "CUDA_VISIBLE_DEVICES", "value": "0"}]}`)
	require.NotEqual(t, http.StatusOK, code)
	require.Contains(t, text, "container debug sets CUDA_VISIBLE_DEVICES")
	code, text = debug(older + `, {"name": "debug", "image": "i"}`)
	require.Equal(t, http.StatusOK, code, text)
}
