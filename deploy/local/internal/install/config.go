package install

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Namespace holds all of Trellis.
const Namespace = "trellis"

// Config describes one installation.
type Config struct {
	Kubectl Kubectl
	// Deploy is the folder deploy of the repository.
	Deploy string
	// Overlay is the folder of the kustomization to install: Deploy/base, or one that includes it.
	Overlay string
	// Components are names of folders below Deploy/components, to be added to the overlay.
	Components []string
	Images     []Image
	Settings   Settings
	Renewal    Renewal
	// Timeout bounds the wait until everything is ready, or removed. Zero: do not wait.
	Timeout time.Duration
	// Check makes sure that the cluster can run Trellis before anything is changed.
	Check Check
}

// Image is the replacement of an image name of the manifests.
type Image struct {
	Name    string // without image.Repository
	NewName string // empty: the name stays
	Tag     string
	Digest  string // instead of the tag
}

// Validate returns an error that names the flag at fault.
func (c Config) Validate() error {
	for _, component := range c.Components {
		if _, err := os.Stat(filepath.Join(c.componentFolder(component), "kustomization.yaml")); err != nil {
			return fmt.Errorf("--component %q: there is %v", component, c.knownComponents())
		}
	}
	if err := c.validateKubeletRoot(); err != nil {
		return err
	}
	return c.Settings.Validate()
}

// Repository is the folder with go.work.
func (c Config) Repository() string { return filepath.Dir(c.Deploy) }

func (c Config) componentFolder(name string) string {
	return filepath.Join(c.Deploy, "components", name)
}

func (c Config) knownComponents() []string {
	entries, err := os.ReadDir(filepath.Join(c.Deploy, "components"))
	if err != nil {
		return nil
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// renameComponent gives the GPU memory resource another name in all policies, those of other components included.
const renameComponent = "gpushare-compat"

// orderedComponents returns the folders of the components in the order in which kustomize has to apply them.
func (c Config) orderedComponents() []string {
	names := slices.Compact(slices.Sorted(slices.Values(c.componentNames())))
	slices.SortStableFunc(names, func(a, b string) int {
		switch {
		case a == renameComponent && b != renameComponent:
			return 1
		case b == renameComponent && a != renameComponent:
			return -1
		}
		return 0
	})
	for i, name := range names {
		names[i] = c.componentFolder(name)
	}
	return names
}
