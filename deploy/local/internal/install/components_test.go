package install_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/gpushare/aliyun"
)

const componentsFolder = "../../../components"

// hamiSize is the path of the ConfigMap with the memory of a GPU.
const hamiSize = "/api/v1/namespaces/trellis/configmaps/hami-aliases"

// rendered is the base with components, as kustomize writes it.
func rendered(t *testing.T, components ...string) []byte {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	relative := func(path string) string {
		absolute, err := filepath.Abs(path)
		require.NoError(t, err)
		relative, err := filepath.Rel(folder, absolute)
		require.NoError(t, err)
		return relative
	}
	over := map[string]any{"resources": []string{relative("../../../base")}}
	var paths []string
	for _, name := range components {
		paths = append(paths, relative(filepath.Join(componentsFolder, name)))
	}
	over["components"] = paths
	text, err := json.Marshal(over)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "kustomization.yaml"), text, 0o600))
	out, err := exec.Command(filepath.Join(stockFolder(t), "kubectl"), "kustomize", folder).Output()
	require.NoError(t, err)
	return out
}

// policies keeps the admission policies and the objects that they need.
func policies(t *testing.T, all []byte) []byte {
	t.Helper()
	var kept []string
	for _, document := range strings.Split(string(all), "\n---\n") {
		var m manifest
		require.NoError(t, yaml.Unmarshal([]byte(document), &m))
		if strings.Contains(m.Kind, "AdmissionPolicy") || m.Kind == "Namespace" || m.Metadata.Name == "hami-aliases" {
			kept = append(kept, document)
		}
	}
	return []byte(strings.Join(kept, "\n---\n"))
}

// install applies manifests.
func (a apiServer) install(t *testing.T, manifests []byte, flags ...string) {
	t.Helper()
	apply := exec.Command(a.kubectl, append([]string{"--server=" + a.url, "--insecure-skip-tls-verify", "--token=" + testToken,
		"apply", "--server-side", "-f", "-"}, flags...)...)
	apply.Stdin = bytes.NewReader(manifests)
	out, err := apply.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func TestCompat_SetsTheResourceEverywhere(t *testing.T) {
	all := rendered(t, "gpushare-compat")
	require.NotContains(t, string(all), "- name: "+gpushare.Resource, "managedResources")
	configured := 0
	for _, document := range strings.Split(string(all), "\n---\n") {
		var m manifest
		require.NoError(t, yaml.Unmarshal([]byte(document), &m))
		if m.Data["TRELLIS_RESOURCE"] == aliyun.Resource {
			configured++
		}
	}
	require.Equal(t, 3, configured, "extender, device plugin and coordinator")

	base, err := os.ReadFile("../../../base/extender/scheduler.yaml")
	require.NoError(t, err)
	compat, err := os.ReadFile(filepath.Join(componentsFolder, "gpushare-compat", "scheduler.yaml"))
	require.NoError(t, err)
	require.Equal(t, strings.ReplaceAll(string(base), gpushare.Resource, aliyun.Resource), string(compat))
}

func TestCompat_AdmitsPodsOfAliyunGPUShareUnchanged(t *testing.T) {
	api := startAPIServer(t)
	api.install(t, policies(t, rendered(t, "hami-aliases", "gpushare-compat")))
	api.settle(t)
	for name, tc := range map[string]struct {
		annotations, limits map[string]string
		scheduler           string
		want                map[string]string
		refused             string
	}{
		"by the limit alone": {
			limits: map[string]string{aliyun.Resource: "3"}, scheduler: gpushare.SchedulerName, want: map[string]string{aliyun.Resource: "3"},
		},
		"by annotation": {
			annotations: map[string]string{gpushare.MemoryAnnotation: "2500Mi"},
			scheduler:   gpushare.SchedulerName, want: map[string]string{aliyun.Resource: "3"},
		},
		"by both": {
			annotations: map[string]string{gpushare.MemoryAnnotation: "3Gi"}, limits: map[string]string{aliyun.Resource: "3"},
			scheduler: gpushare.SchedulerName, want: map[string]string{aliyun.Resource: "3"},
		},
		"by both, which differ": {
			annotations: map[string]string{gpushare.MemoryAnnotation: "4Gi"}, limits: map[string]string{aliyun.Resource: "3"},
			refused: "the containers' limits of aliyun.com/gpu-mem add up to 3, the annotations ask for 4 units",
		},
		"in HAMi's way": {
			limits: map[string]string{"nvidia.com/gpumem": "3000"}, scheduler: gpushare.SchedulerName, want: map[string]string{aliyun.Resource: "3"},
		},
		"not at all":                             {limits: map[string]string{"cpu": "1"}, scheduler: "default-scheduler", want: map[string]string{"cpu": "1"}},
		"by what no node offers here":            {limits: map[string]string{gpushare.Resource: "3"}, scheduler: "default-scheduler", want: map[string]string{gpushare.Resource: "3"}},
		"by a resource of another device plugin": {limits: map[string]string{"nvidia.com/gpu": "1"}, scheduler: "default-scheduler", want: map[string]string{"nvidia.com/gpu": "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			pod, refused := api.admit(t, limitsPod{annotations: tc.annotations, limits: tc.limits})
			if tc.refused != "" {
				require.Contains(t, refused, tc.refused)
				return
			}
			require.Empty(t, refused)
			require.Equal(t, tc.scheduler, pod.Spec.SchedulerName)
			require.Equal(t, tc.want, pod.Spec.Containers[0].Resources.Limits)
			require.Equal(t, tc.want, pod.Spec.Containers[0].Resources.Requests)
		})
	}
}

func TestComponents_CheckPodsAsTheBaseDoes(t *testing.T) {
	api := startAPIServer(t)
	api.install(t, policies(t, rendered(t, "hami-aliases", "gpushare-compat")))
	api.settle(t)
	for name, limit := range map[string]string{"in HAMi's way": "nvidia.com/gpumem", "by the limit of Aliyun gpushare": aliyun.Resource} {
		t.Run(name, func(t *testing.T) {
			pod := func(more string) podCase {
				return podCase{Annotations: map[string]string{}, Spec: json.RawMessage(`{"schedulerName": "volcano", "containers": [{"name": "train", "image": "i",
					"resources": {"requests": {"cpu": "1500m"}, "limits": {"` + limit + `": "1000"}}` + more + `}]}`)}
			}
			spec, refused, warnings := api.create(t, pod(""))
			require.Empty(t, refused)
			require.Len(t, warnings, 1)
			require.Contains(t, warnings[0], "with a share of a GPU")
			require.Contains(t, spec.Tolerations, toleration{Key: "nvidia.com/gpu", Operator: "Exists"})
			require.Equal(t, map[string]string{"train": "2"}, threads(t, spec))

			_, refused, _ = api.create(t, pod(`, "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]`))
			require.Contains(t, refused, "container train sets NVIDIA_VISIBLE_DEVICES")
		})
	}
}

// hamis is a row of the table of HAMi's requests.
type hamis struct {
	Name        string            `json:"name"`
	Given       map[string]string `json:"given"`       // annotations that the user wrote
	Limits      map[string]string `json:"limits"`      // of the container with the request
	First       bool              `json:"first"`       // whether a container without a request comes first
	Both        bool              `json:"both"`        // whether that one requests the same
	Annotations map[string]string `json:"annotations"` // as admitted
	Units       string            `json:"units"`       // the resulting limit
	Kept        bool              `json:"kept"`        // admitted unchanged
	Refused     string            `json:"refused"`
}

func TestHAMi_TranslatesRequests(t *testing.T) {
	api := startAPIServer(t)
	manifests := policies(t, rendered(t, "hami-aliases"))
	api.install(t, manifests)
	api.settle(t)
	part := limitsPod{limits: map[string]string{"nvidia.com/gpumem-percentage": "50"}}
	require.Eventually(t, func() bool { _, refused := api.admit(t, part); return refused != "" }, 30*time.Second, 200*time.Millisecond)
	_, refused := api.admit(t, part)
	require.Contains(t, refused, "the memory of a GPU of this cluster is not configured")

	api.setGPUMemory(t, "24Gi")
	require.Eventually(t, func() bool { _, refused := api.admit(t, part); return refused == "" }, 30*time.Second, 200*time.Millisecond)
	content, err := os.ReadFile(filepath.Join(componentsFolder, "hami-aliases", "testdata", "requests.json"))
	require.NoError(t, err)
	var rows []hamis
	require.NoError(t, json.Unmarshal(content, &rows))
	for _, row := range rows {
		t.Run(row.Name, func(t *testing.T) {
			pod, refused := api.admit(t, limitsPod{annotations: row.Given, limits: row.Limits, first: row.First || row.Both, both: row.Both})
			if row.Refused != "" {
				require.Contains(t, refused, row.Refused)
				return
			}
			require.Empty(t, refused)
			scheduler, want := gpushare.SchedulerName, map[string]string{gpushare.Resource: row.Units}
			if row.Kept {
				scheduler, want = "default-scheduler", row.Limits
			}
			require.Equal(t, scheduler, pod.Spec.SchedulerName)
			require.Equal(t, row.Annotations, pod.Metadata.Annotations)
			asking := pod.Spec.Containers[len(pod.Spec.Containers)-1]
			require.Equal(t, want, asking.Resources.Limits)
			require.Equal(t, want, asking.Resources.Requests)
			if row.First {
				require.Empty(t, pod.Spec.Containers[0].Resources.Limits)
			}
		})
	}
}

// setGPUMemory writes the memory of a GPU as an administrator does: as another field manager than the installation.
func (a apiServer) setGPUMemory(t *testing.T, size string) {
	t.Helper()
	code, answer := a.patch(t, hamiSize, "", []byte(`{"data": {"gpuMemory": "`+size+`"}}`))
	require.Equal(t, http.StatusOK, code, "%s", answer)
}

// gpuMemory is what the ConfigMap says.
func (a apiServer) gpuMemory(t *testing.T) string {
	t.Helper()
	code, answer, err := a.do(http.MethodGet, hamiSize, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, code, "%s", answer)
	var size struct{ Data map[string]string }
	require.NoError(t, json.Unmarshal(answer, &size))
	return size.Data["gpuMemory"]
}

func TestHAMi_KeepsTheMemoryOfAGPUAtTheNextInstallation(t *testing.T) {
	manifests := policies(t, rendered(t, "hami-aliases"))
	older := append(bytes.Clone(manifests), "\n---\n"+
		`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "hami-aliases", "namespace": "trellis"}, "data": {"gpuMemory": ""}}`...)
	for name, first := range map[string][]byte{"of this version": manifests, "of one that wrote an empty value": older} {
		t.Run(name, func(t *testing.T) {
			api := startAPIServer(t)
			api.install(t, first)
			api.setGPUMemory(t, "24Gi")
			api.install(t, manifests, "--force-conflicts")
			require.Equal(t, "24Gi", api.gpuMemory(t))
		})
	}
}

func TestHAMi_AcceptsPodsWithoutTheConfigMap(t *testing.T) {
	api := startAPIServer(t)
	api.install(t, policies(t, rendered(t, "hami-aliases")))
	api.settle(t)
	part := limitsPod{limits: map[string]string{"nvidia.com/gpumem-percentage": "50"}}
	refused := func() bool { _, refused := api.admit(t, part); return refused != "" }
	require.Eventually(t, refused, 30*time.Second, 200*time.Millisecond, "the policies are not in force")

	code, answer, err := api.do(http.MethodDelete, hamiSize, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, code, "%s", answer)
	require.Eventually(t, func() bool { return !refused() }, 30*time.Second, 200*time.Millisecond, "the policies still see the ConfigMap")
	for name, limits := range map[string]map[string]string{
		"without a GPU": {"cpu": "1"},
		"in HAMi's way": {"nvidia.com/gpumem": "300"},
		"in NVIDIA's":   {"nvidia.com/gpu": "1"},
		"no limits":     nil,
	} {
		t.Run(name, func(t *testing.T) {
			pod, refused := api.admit(t, limitsPod{limits: limits})
			require.Empty(t, refused)
			require.Equal(t, limits, pod.Spec.Containers[0].Resources.Limits)
		})
	}
}

// limitsPod is a pod that requests GPU memory by limits.
type limitsPod struct {
	annotations, limits map[string]string
	first, both         bool
}

// admit creates the pod as a dry run, and returns it or the message of the refusal.
func (a apiServer) admit(t *testing.T, pod limitsPod) (admitted pod, refused string) {
	t.Helper()
	containers := []any{map[string]any{"name": "c", "image": "i", "resources": map[string]any{"limits": pod.limits}}}
	if pod.first {
		other := map[string]any{"name": "other", "image": "i"}
		if pod.both {
			other["resources"] = map[string]any{"limits": pod.limits}
		}
		containers = append([]any{other}, containers...)
	}
	body, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "p", "annotations": pod.annotations}, "spec": map[string]any{"containers": containers},
	})
	require.NoError(t, err)
	code, answer := a.post(t, "/api/v1/namespaces/default/pods?dryRun=All", body)
	if code == http.StatusCreated {
		require.NoError(t, json.Unmarshal(answer, &admitted))
		return admitted, ""
	}
	return admitted, message(t, answer)
}
