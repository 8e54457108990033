package install_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/trellis-gpu/trellis/deploy/local/internal/image"
	"github.com/trellis-gpu/trellis/deploy/local/internal/install"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// manifest is the part of an object that the tests check.
type manifest struct {
	Kind     string
	Metadata struct{ Name, Namespace string }
	Data     map[string]string
	Rules    []struct{ APIGroups, Resources, Verbs []string }
	Spec     struct {
		Replicas             *int
		VolumeClaimTemplates []any `yaml:"volumeClaimTemplates"`
		Template             struct {
			Metadata struct{ Annotations, Labels map[string]string }
			Spec     podSpec
		}
	}
}

type podSpec struct {
	NodeSelector    map[string]string `yaml:"nodeSelector"`
	SecurityContext struct {
		RunAsNonRoot bool `yaml:"runAsNonRoot"`
	} `yaml:"securityContext"`
	HostNetwork bool `yaml:"hostNetwork"`
	HostPID     bool `yaml:"hostPID"`
	Containers  []struct {
		Name, Image     string
		Args            []string
		Resources       struct{ Requests map[string]string }
		Ports           []struct{ Name string }
		StartupProbe    *probe `yaml:"startupProbe"`
		ReadinessProbe  *probe `yaml:"readinessProbe"`
		LivenessProbe   *probe `yaml:"livenessProbe"`
		SecurityContext struct {
			Privileged               bool
			AllowPrivilegeEscalation *bool `yaml:"allowPrivilegeEscalation"`
			ReadOnlyRootFilesystem   bool  `yaml:"readOnlyRootFilesystem"`
			Capabilities             struct{ Drop, Add []string }
		} `yaml:"securityContext"`
	}
	Volumes []struct{ Name string }
}

type probe struct {
	HTTPGet          struct{ Path, Port string } `yaml:"httpGet"`
	PeriodSeconds    int                         `yaml:"periodSeconds"`
	FailureThreshold int                         `yaml:"failureThreshold"`
}

func build(t *testing.T, folder string) []manifest {
	t.Helper()
	out, err := exec.Command(filepath.Join(stockFolder(t), "kubectl"), "kustomize", folder).Output()
	require.NoError(t, err)
	return parse(t, out)
}

func parse(t *testing.T, text []byte) []manifest {
	t.Helper()
	var all []manifest
	for decoder := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var m manifest
		err := decoder.Decode(&m)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		all = append(all, m)
	}
}

func find(t *testing.T, all []manifest, kind, name string) manifest {
	t.Helper()
	i := slices.IndexFunc(all, func(m manifest) bool { return m.Kind == kind && m.Metadata.Name == name })
	require.GreaterOrEqual(t, i, 0, "%s %s", kind, name)
	return all[i]
}

func workloads(all []manifest) []manifest {
	return slices.DeleteFunc(slices.Clone(all), func(m manifest) bool { return len(m.Spec.Template.Spec.Containers) == 0 })
}

func TestBase_RestrictsEveryContainer(t *testing.T) {
	all := workloads(build(t, "../../../base"))
	require.Len(t, all, 5)
	for _, m := range all {
		pod := m.Spec.Template.Spec
		require.False(t, pod.HostNetwork || pod.HostPID, m.Metadata.Name)
		agent := m.Kind == "DaemonSet"
		require.Equal(t, !agent, pod.SecurityContext.RunAsNonRoot, m.Metadata.Name)
		require.Equal(t, agent, pod.NodeSelector["gpushare"] == "true", m.Metadata.Name)
		for _, c := range pod.Containers {
			s := c.SecurityContext
			require.True(t, s.ReadOnlyRootFilesystem, c.Name)
			require.NotNil(t, s.AllowPrivilegeEscalation, c.Name)
			require.False(t, s.Privileged || *s.AllowPrivilegeEscalation, c.Name)
			require.Equal(t, []string{"ALL"}, s.Capabilities.Drop, c.Name)
			require.Empty(t, s.Capabilities.Add, c.Name)
			require.Contains(t, []string{"10m", "25m", "50m"}, c.Resources.Requests["cpu"], "%s: nodes may have one core", c.Name)
			require.NotNil(t, c.ReadinessProbe, c.Name)
			require.NotNil(t, c.LivenessProbe, c.Name)
			require.True(t, strings.HasPrefix(c.Image, image.Repository), "%s: %s", c.Name, c.Image)
		}
	}
}

// TestBase_WaitsForTheGPUsToBeListed allows for the 2 minutes that the device plugin gives its first listing.
func TestBase_WaitsForTheGPUsToBeListed(t *testing.T) {
	c := find(t, build(t, "../../../base"), "DaemonSet", "deviceplugin").Spec.Template.Spec.Containers[0]
	require.NotNil(t, c.StartupProbe)
	require.Equal(t, c.LivenessProbe.HTTPGet, c.StartupProbe.HTTPGet)
	require.Greater(t, c.StartupProbe.PeriodSeconds*c.StartupProbe.FailureThreshold, 120)
}

func TestPodMonitor_SelectsEveryProgram(t *testing.T) {
	text, err := os.ReadFile("../../../samples/podmonitor.yaml")
	require.NoError(t, err)
	var monitor struct {
		Metadata struct{ Namespace string }
		Spec     struct {
			Selector struct {
				MatchLabels map[string]string `yaml:"matchLabels"`
			}
			PodMetricsEndpoints []struct {
				Port        string
				HonorLabels bool `yaml:"honorLabels"`
			} `yaml:"podMetricsEndpoints"`
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &monitor))
	require.Len(t, monitor.Spec.PodMetricsEndpoints, 1)
	endpoint := monitor.Spec.PodMetricsEndpoints[0]
	require.True(t, endpoint.HonorLabels, "the metrics of jobs have the labels namespace and pod of the job")
	var scraped []string
	for _, m := range workloads(build(t, "../../../base")) {
		require.Equal(t, m.Metadata.Namespace, monitor.Metadata.Namespace)
		for label, value := range monitor.Spec.Selector.MatchLabels {
			require.Equal(t, value, m.Spec.Template.Metadata.Labels[label], m.Metadata.Name)
		}
		for _, c := range m.Spec.Template.Spec.Containers {
			if slices.ContainsFunc(c.Ports, func(p struct{ Name string }) bool { return p.Name == endpoint.Port }) {
				scraped = append(scraped, c.Name)
			}
		}
	}
	require.ElementsMatch(t, []string{"coordinator", "deviceplugin", "extender", "tuner"}, scraped)
}

func TestBase_ConnectsToTheBusWithTLS(t *testing.T) {
	all := build(t, "../../../base")
	for _, m := range workloads(all) {
		c := m.Spec.Template.Spec.Containers[0]
		if c.Name == "etcd" {
			require.Contains(t, c.Args, "--client-cert-auth=true")
			continue
		}
		require.Contains(t, c.Args, "--etcd-endpoints=https://$(TRELLIS_ETCD_SERVICE_HOST):2379", c.Name)
		require.Contains(t, c.Args, "--etcd-server-name=trellis-etcd", c.Name)
	}
}

func TestBase_GrantsNoMoreThanNeeded(t *testing.T) {
	all := build(t, "../../../base")
	for name, writes := range map[string][]string{
		"trellis-extender":     {"pods/binding create", "events create", "events patch", "events update"},
		"trellis-deviceplugin": {"events create", "nodes patch"}, // of its own node, to which an admission policy holds it
		"trellis-coordinator":  {"pods patch", "pods/resize patch", "events create", "events patch", "events update"},
	} {
		var got []string
		for _, rule := range find(t, all, "ClusterRole", name).Rules {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					require.NotEqual(t, "*", verb)
					if !slices.Contains([]string{"get", "list", "watch"}, verb) {
						got = append(got, resource+" "+verb)
					}
				}
				require.NotContains(t, []string{"*", "secrets"}, resource)
			}
		}
		require.ElementsMatch(t, writes, got, name)
	}
}

func TestRecreate_AloneGrantsCreationOfPods(t *testing.T) {
	for _, m := range build(t, "../../../base") {
		require.NotEqual(t, "trellis-recreate", m.Metadata.Name)
	}
	all := build(t, "../../overlay")
	require.Equal(t, string(rendered(t, "recreate")), string(rendered(t, "resubmit")), "the former name of the component")
	role := find(t, all, "ClusterRole", "trellis-recreate")
	require.Len(t, role.Rules, 1)
	require.Equal(t, []string{"pods"}, role.Rules[0].Resources)
	require.ElementsMatch(t, []string{"create", "delete"}, role.Rules[0].Verbs)
	enabled := slices.ContainsFunc(all, func(m manifest) bool {
		return m.Kind == "ConfigMap" && strings.HasPrefix(m.Metadata.Name, "extender") && m.Data["TRELLIS_RECREATE"] == "true"
	})
	require.True(t, enabled)
}

func TestMoves_AloneGrantsEvictions(t *testing.T) {
	for _, m := range build(t, "../../../base") {
		require.NotEqual(t, "trellis-moves", m.Metadata.Name)
	}
	role := find(t, parse(t, rendered(t, "moves")), "ClusterRole", "trellis-moves")
	require.Equal(t, []string{"pods"}, role.Rules[0].Resources)
	require.ElementsMatch(t, []string{"create", "update", "patch", "delete"}, role.Rules[0].Verbs)
	require.Equal(t, []string{"pods/eviction"}, role.Rules[1].Resources)
	require.Equal(t, []string{"create"}, role.Rules[1].Verbs)
	require.Equal(t, []string{"persistentvolumeclaims", "persistentvolumes"}, role.Rules[2].Resources)
	require.Equal(t, []string{"get"}, role.Rules[2].Verbs)
	require.Len(t, role.Rules, 3)
}

func TestWorkers_AloneGrantsScaling(t *testing.T) {
	for _, m := range build(t, "../../../base") {
		require.NotEqual(t, "trellis-workers", m.Metadata.Name)
	}
	role := find(t, parse(t, rendered(t, "workers")), "ClusterRole", "trellis-workers")
	require.Len(t, role.Rules, 4)
	require.Equal(t, []string{"patch"}, role.Rules[0].Verbs)
	require.Equal(t, []string{"*/scale"}, role.Rules[3].Resources)
	require.Equal(t, []string{"get", "update"}, role.Rules[3].Verbs)
}

func TestRendering_SetsImagesAndSettings(t *testing.T) {
	overlay, err := filepath.Abs("../../overlay")
	require.NoError(t, err)
	folder := t.TempDir()
	require.NoError(t, install.Rendering{
		Images:    install.Written([]image.Written{{Name: "extender", Tag: "0123456789ab"}}),
		Settings:  install.Settings{GPUs: "emulated:4x16GiB", Policy: "fair", Objective: "0.25", Interval: 7 * time.Second},
		Authority: "f00d",
	}.Render(folder, overlay))
	all := build(t, folder)

	extender := find(t, all, "Deployment", "extender")
	require.Equal(t, "trellis.local/extender:0123456789ab", extender.Spec.Template.Spec.Containers[0].Image)
	require.Equal(t, 1, *extender.Spec.Replicas)
	require.Equal(t, "f00d", extender.Spec.Template.Metadata.Annotations["gpushare/bus-authority"])
	for _, m := range all {
		require.Empty(t, gpushare.Unknown(m.Spec.Template.Metadata.Annotations), "admission refuses pods of "+m.Metadata.Name)
	}
	require.Empty(t, find(t, all, "StatefulSet", "trellis-etcd").Spec.VolumeClaimTemplates)
	settings := map[string]string{}
	for _, m := range all {
		for name, value := range m.Data {
			settings[name] = value
		}
	}
	require.Equal(t, "emulated:4x16GiB", settings["TRELLIS_GPUS"])
	require.Equal(t, "fair", settings["TRELLIS_POLICY"])
	require.Equal(t, "7s", settings["TRELLIS_INTERVAL"])
	require.Equal(t, "/", settings["TRELLIS_SHARED_HOST_PATHS"], "the nodes of the local cluster are one machine")
}

func TestSettings_RefusesInvalidValues(t *testing.T) {
	good := install.Settings{GPUs: "emulated:2x24GiB", Policy: "flowcon", Interval: 5 * time.Second}
	require.NoError(t, good.Validate())
	for _, gpus := range []string{"", "nvml", "emulated:1x24GiB,compute", "emulated:2x24GiB@numa=0,1/node-2=1x24GiB,compute@numa=0"} {
		require.NoError(t, install.Settings{GPUs: gpus}.Validate(), gpus)
	}
	for flag, bad := range map[string]install.Settings{
		"--gpus":      {GPUs: "emulated:two", Policy: "flowcon", Interval: time.Second},
		"--policy":    {GPUs: "nvml", Policy: "Flow Con", Interval: time.Second},
		"--objective": {GPUs: "nvml", Policy: "harmless", Objective: "2", Interval: time.Second},
		"--interval":  {GPUs: "nvml", Policy: "flowcon", Interval: time.Millisecond},
	} {
		require.ErrorContains(t, bad.Validate(), flag)
	}
}
