package install

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/trellis-gpu/trellis/deploy/local/internal/image"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// Rendering is the part of a kustomization that an installation adds to its overlay.
type Rendering struct {
	Components []string // folders
	Images     []Image
	Settings   Settings
	// Authority identifies the bus's certificate authority. A different authority restarts the pods.
	Authority string
}

type fields = map[string]any

// Kustomization is the text of a kustomization.yaml. resource and components are relative paths. It is JSON, which is
// YAML.
func (r Rendering) Kustomization(resource string, components []string) ([]byte, error) {
	resources := []string{resource}
	if r.Settings.KubeletRoot != "" {
		resources = append(resources, kubeletRootFile)
	}
	content := fields{
		"apiVersion": "kustomize.config.k8s.io/v1beta1",
		"kind":       "Kustomization",
		"resources":  resources,
		"images":     r.images(),
		"labels":     []fields{{"pairs": fields{ownedKey: fieldManager}}},
	}
	if len(components) > 0 {
		content["components"] = components
	}
	if generators := r.Settings.generators(); len(generators) > 0 {
		content["configMapGenerator"] = generators
	}
	if r.Authority != "" {
		// The annotation is on every pod, so that the pods of all workloads are replaced when the authority changes.
		content["commonAnnotations"] = fields{gpushare.AuthorityAnnotation: r.Authority}
	}
	return json.MarshalIndent(content, "", "  ")
}

func (r Rendering) images() []fields {
	images := make([]fields, len(r.Images))
	for i, img := range r.Images {
		images[i] = fields{"name": image.Repository + img.Name}
		if img.NewName != "" {
			images[i]["newName"] = img.NewName
		}
		if img.Digest != "" {
			images[i]["digest"] = img.Digest
		} else {
			images[i]["newTag"] = img.Tag
		}
	}
	return images
}

// Render writes the kustomization into folder.
func (r Rendering) Render(folder, overlay string) error {
	// kustomize accepts relative paths only.
	resource, err := filepath.Rel(folder, overlay)
	if err != nil {
		return fmt.Errorf("path from %s to the overlay: %w", folder, err)
	}
	components := make([]string, len(r.Components))
	for i, component := range r.Components {
		if components[i], err = filepath.Rel(folder, component); err != nil {
			return fmt.Errorf("path from %s to a component: %w", folder, err)
		}
	}
	if err := r.Settings.writeKubeletRoot(folder); err != nil {
		return err
	}
	text, err := r.Kustomization(resource, components)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "kustomization.yaml"), text, 0o644)
}

// render returns the manifests of the installation. It does not connect to the cluster.
func (c Config) render(ctx context.Context, authority string) ([]byte, error) {
	folder, err := os.MkdirTemp("", "trellis-install-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	r := Rendering{Images: c.Images, Settings: c.Settings, Authority: authority}
	// Relative paths between the folders hold only between their real paths.
	if folder, err = realPath(folder); err != nil {
		return nil, err
	}
	overlay, err := realPath(c.Overlay)
	if err != nil {
		return nil, err
	}
	for _, component := range c.orderedComponents() {
		path, err := realPath(component)
		if err != nil {
			return nil, err
		}
		r.Components = append(r.Components, path)
	}
	if err := r.Render(folder, overlay); err != nil {
		return nil, err
	}
	return c.Kubectl.run(ctx, nil, "kustomize", folder)
}

func realPath(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(absolute)
}
