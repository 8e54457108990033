package install

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
)

const (
	// kubeletRootComponent sets kubelet's folders from the ConfigMap in kubeletRootFile.
	kubeletRootComponent = "kubelet-root"
	kubeletRootFile      = "kubelet-root.yaml"
)

// componentNames returns the chosen components, and those that the settings need.
func (c Config) componentNames() []string {
	names := slices.Clone(c.Components)
	if c.Settings.KubeletRoot != "" {
		names = append(names, kubeletRootComponent)
	}
	return names
}

// validateKubeletRoot returns an error if the component has no value.
func (c Config) validateKubeletRoot() error {
	if slices.Contains(c.Components, kubeletRootComponent) && c.Settings.KubeletRoot == "" {
		return errors.New("--component kubelet-root: name the folder with --kubelet-root DIR, which adds the component")
	}
	return nil
}

// writeKubeletRoot writes the ConfigMap that the component reads. kustomize does not add it to the manifests.
func (s Settings) writeKubeletRoot(folder string) error {
	if s.KubeletRoot == "" {
		return nil
	}
	text, err := json.Marshal(fields{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata": fields{
			"name":        kubeletRootComponent,
			"annotations": fields{"config.kubernetes.io/local-config": "true"},
		},
		"data": fields{"path": s.KubeletRoot},
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, kubeletRootFile), text, 0o644)
}
