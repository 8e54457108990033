package install_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/trellis-gpu/trellis/deploy/local/internal/install"
)

// daemonSet is the part of a DaemonSet with its folders.
type daemonSet struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		Template struct {
			Spec struct {
				Containers []struct {
					Args                     []string
					TerminationMessagePolicy string                             `yaml:"terminationMessagePolicy"`
					VolumeMounts             []struct{ Name, MountPath string } `yaml:"volumeMounts"`
				}
				Volumes []struct {
					Name     string
					HostPath struct{ Path, Type string } `yaml:"hostPath"`
				}
			}
		}
	}
}

// daemonSets renders an installation and returns its DaemonSets by name.
func daemonSets(t *testing.T, settings install.Settings) (map[string]daemonSet, string) {
	t.Helper()
	deploy, err := filepath.Abs("../../..")
	require.NoError(t, err)
	config := install.Config{
		Kubectl:  install.Kubectl{Program: filepath.Join(stockFolder(t), "kubectl")},
		Deploy:   deploy,
		Overlay:  filepath.Join(deploy, "base"),
		Settings: settings,
	}
	require.NoError(t, config.Validate())
	manifests, err := config.Render(t.Context())
	require.NoError(t, err)
	sets := map[string]daemonSet{}
	for _, document := range strings.Split(string(manifests), "\n---\n") {
		var d daemonSet
		require.NoError(t, yaml.Unmarshal([]byte(document), &d))
		if d.Kind == "DaemonSet" {
			sets[d.Metadata.Name] = d
		}
	}
	return sets, string(manifests)
}

// hostPaths returns the folders of a DaemonSet's volumes by name.
func (d daemonSet) hostPaths() map[string]string {
	paths := map[string]string{}
	for _, v := range d.Spec.Template.Spec.Volumes {
		if v.HostPath.Path != "" {
			paths[v.Name] = v.HostPath.Path
		}
	}
	return paths
}

func TestKubeletRoot_OneSettingForAllFolders(t *testing.T) {
	usual, _ := daemonSets(t, install.Settings{})
	require.Equal(t, map[string]string{
		"plugins": "/var/lib/kubelet/device-plugins", "pod-resources": "/var/lib/kubelet/pod-resources",
		"state": "/var/lib/trellis", "proc": "/proc", "cdi": "/var/run/cdi",
	}, usual["deviceplugin"].hostPaths())

	moved, manifests := daemonSets(t, install.Settings{KubeletRoot: "/srv/agent/kubelet"})
	require.Equal(t, map[string]string{
		"plugins": "/var/lib/kubelet/device-plugins", "root-plugins": "/srv/agent/kubelet/device-plugins",
		"pod-resources": "/srv/agent/kubelet/pod-resources",
		"state":         "/var/lib/trellis", "proc": "/proc", "cdi": "/var/run/cdi",
	}, moved["deviceplugin"].hostPaths())
	c := moved["deviceplugin"].Spec.Template.Spec.Containers[0]
	require.Equal(t, "--plugin-dir=/var/lib/kubelet/device-plugins,/host/kubelet/device-plugins", c.Args[len(c.Args)-1])
	require.NotContains(t, manifests, "name: kubelet-root", "the ConfigMap is for kustomize only")
}

// TestBase_StartsWithoutKubeletsFolders: a volume that must exist would leave the pod in ContainerCreating.
func TestBase_StartsWithoutKubeletsFolders(t *testing.T) {
	sets, _ := daemonSets(t, install.Settings{KubeletRoot: "/srv/agent/kubelet"})
	for name, d := range sets {
		for _, v := range d.Spec.Template.Spec.Volumes {
			if v.HostPath.Path != "" && v.Name != "proc" && v.Name != "cgroups" {
				require.Equal(t, "DirectoryOrCreate", v.HostPath.Type, "%s: %s", name, v.Name)
			}
		}
		for _, c := range d.Spec.Template.Spec.Containers {
			require.Equal(t, "FallbackToLogsOnError", c.TerminationMessagePolicy, "%s: kubectl describe shows why it ended", name)
		}
	}
}

func TestSettings_KubeletRoot(t *testing.T) {
	for _, invalid := range []string{"kubelet", "/var/lib/kubelet/", "/var/lib/a b", "/srv/../etc", "/$(x)", "/"} {
		require.ErrorContains(t, install.Settings{KubeletRoot: invalid}.Validate(), "--kubelet-root", invalid)
	}
	deploy, err := filepath.Abs("../../..")
	require.NoError(t, err)
	require.ErrorContains(t, install.Config{Deploy: deploy, Components: []string{"kubelet-root"}}.Validate(), "--kubelet-root DIR")
}
