package install

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/trellis-gpu/trellis/deploy/local/internal/image"
)

// Rendering is what an installation lays over the overlay.
type Rendering struct {
	Images   []image.Written
	Settings Settings
	// Authority identifies the bus's certificate authority: pods start again when it is another one.
	Authority string
}

// authorityAnnotation is on every pod, for that reason alone.
const authorityAnnotation = "gpushare/bus-authority"

// Kustomization is the text of a kustomization.yaml above the overlay, to which resource is the relative path. It is
// JSON, which is YAML.
func (r Rendering) Kustomization(resource string) ([]byte, error) {
	type object = map[string]any
	images := make([]object, len(r.Images))
	for i, written := range r.Images {
		images[i] = object{"name": image.Repository + written.Name, "newTag": written.Tag}
	}
	coordinator := []string{"TRELLIS_POLICY=" + r.Settings.Policy, "TRELLIS_INTERVAL=" + r.Settings.Interval.String()}
	if r.Settings.Objective != "" {
		coordinator = append(coordinator, "TRELLIS_OBJECTIVE="+r.Settings.Objective)
	}
	setting := func(name string, literals ...string) object {
		return object{"name": name, "namespace": Namespace, "behavior": "merge", "literals": literals}
	}
	return json.MarshalIndent(object{
		"apiVersion": "kustomize.config.k8s.io/v1beta1",
		"kind":       "Kustomization",
		"resources":  []string{resource},
		"images":     images,
		"configMapGenerator": []object{
			setting("deviceplugin", "TRELLIS_GPUS="+r.Settings.GPUs),
			setting("coordinator", coordinator...),
		},
		"commonAnnotations": object{authorityAnnotation: r.Authority},
	}, "", "  ")
}

// Render writes the kustomization into folder.
func (r Rendering) Render(folder, overlay string) error {
	// kustomize takes no absolute path.
	relative, err := filepath.Rel(folder, overlay)
	if err != nil {
		return fmt.Errorf("path from %s to the overlay: %w", folder, err)
	}
	text, err := r.Kustomization(relative)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "kustomization.yaml"), text, 0o644)
}

func (k kubectl) applyOverlay(ctx context.Context, overlay string, r Rendering) error {
	folder, err := os.MkdirTemp("", "trellis-install-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if folder, err = filepath.EvalSymlinks(folder); err != nil {
		return err
	}
	if overlay, err = filepath.EvalSymlinks(overlay); err != nil {
		return err
	}
	if err := r.Render(folder, overlay); err != nil {
		return err
	}
	manifests, err := k.run(ctx, nil, "kustomize", folder)
	if err != nil {
		return err
	}
	return k.apply(ctx, manifests)
}
