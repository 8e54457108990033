package install

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// object identifies a Kubernetes object.
type object struct {
	Kind     string
	Metadata struct{ Name, Namespace string }
}

func (o object) String() string {
	name := o.Metadata.Name
	if o.Metadata.Namespace != "" {
		name = o.Metadata.Namespace + "/" + name
	}
	return strings.ToLower(o.Kind) + " " + name
}

// parseObjects returns the set of objects of the manifests, each as "kind namespace/name".
func parseObjects(manifests []byte) (map[string]bool, error) {
	objects := map[string]bool{}
	err := eachDocument(manifests, func(o object) { objects[o.String()] = true })
	return objects, err
}

// resourceName returns the extended resource that the device plugin offers under the manifests' configuration.
func resourceName(manifests []byte) (string, error) {
	type configMap struct {
		Metadata struct{ Name string }
		Data     struct {
			Resource string `yaml:"TRELLIS_RESOURCE"`
		}
	}
	resource := gpushare.Resource
	err := eachDocument(manifests, func(c configMap) {
		if strings.HasPrefix(c.Metadata.Name, "deviceplugin-") && c.Data.Resource != "" {
			resource = c.Data.Resource
		}
	})
	return resource, err
}

// claimWithoutClass returns the name of the PersistentVolumeClaim of the manifests that needs a default StorageClass, or "".
func claimWithoutClass(manifests []byte) (string, error) {
	type statefulSet struct {
		Metadata struct{ Name string }
		Spec     struct {
			VolumeClaimTemplates []struct {
				Metadata struct{ Name string }
				Spec     struct {
					StorageClassName string `yaml:"storageClassName"`
				}
			} `yaml:"volumeClaimTemplates"`
		}
	}
	name := ""
	err := eachDocument(manifests, func(s statefulSet) {
		for _, template := range s.Spec.VolumeClaimTemplates {
			if template.Spec.StorageClassName == "" {
				name = fmt.Sprintf("%s-%s-0", template.Metadata.Name, s.Metadata.Name)
			}
		}
	})
	return name, err
}

// eachDocument decodes each YAML document of the manifests as a T and calls visit with it.
func eachDocument[T any](manifests []byte, visit func(T)) error {
	for decoder := yaml.NewDecoder(bytes.NewReader(manifests)); ; {
		var document T
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the manifests: %w", err)
		}
		visit(document)
	}
}
