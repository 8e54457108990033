package install

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/trellis-gpu/trellis/deploy/local/internal/image"
	"github.com/trellis-gpu/trellis/deploy/local/internal/registry"
)

// ResolveImages returns the images of an installation from a registry, by digest. An image of an upstream program is the
// one in chosen, else that of the registry if it was pushed there, else that of the cluster's own control plane.
func ResolveImages(ctx context.Context, k Kubectl, target registry.Target, chosen map[string]string, out io.Writer) ([]Image, error) {
	var images []Image
	for _, name := range image.Binaries() {
		digest, found, err := target.Digest(ctx, name)
		if err != nil {
			return nil, err
		}
		if !found {
			return nil, fmt.Errorf("the registry has no image %s:%s: make images REGISTRY=%s TAG=%s pushes it",
				target.Repository(name), target.Tag, target.Address, target.Tag)
		}
		images = append(images, Image{Name: name, NewName: target.Repository(name), Digest: digest.String()})
	}
	for _, name := range image.StockPrograms() {
		img, err := resolveStock(ctx, k, target, name, chosen[name])
		if err != nil {
			return nil, err
		}
		images = append(images, img)
	}
	for _, img := range images {
		fmt.Fprintf(out, "image %-14s %s\n", img.Name, img)
	}
	return images, nil
}

// String is the reference that a pod gets.
func (i Image) String() string {
	if i.Digest != "" {
		return i.NewName + "@" + i.Digest
	}
	return i.NewName + ":" + i.Tag
}

func resolveStock(ctx context.Context, k Kubectl, target registry.Target, name, chosen string) (Image, error) {
	if chosen != "" {
		return parseImage(name, chosen)
	}
	digest, found, err := target.Digest(ctx, name)
	if err != nil {
		return Image{}, err
	}
	if found {
		return Image{Name: name, NewName: target.Repository(name), Digest: digest.String()}, nil
	}
	var pods struct {
		Items []struct {
			Spec struct {
				Containers []struct{ Name, Image string }
			}
		}
	}
	// The label of static control plane pods that kubeadm writes.
	if err := k.get(ctx, &pods, "pods", "--namespace=kube-system", "--selector=component="+name); err != nil {
		return Image{}, err
	}
	for _, pod := range pods.Items {
		for _, container := range pod.Spec.Containers {
			if container.Name == name {
				return parseImage(name, container.Image)
			}
		}
	}
	return Image{}, fmt.Errorf("no image for %s: the registry has none, and the cluster's control plane shows none. Push it with "+
		"make images WITH_STOCK=1, or name the upstream image with --%s-image", name, name)
}

// parseImage splits a reference into the parts that kustomize replaces.
func parseImage(name, reference string) (Image, error) {
	if repository, digest, ok := strings.Cut(reference, "@"); ok {
		return Image{Name: name, NewName: withoutTag(repository), Digest: digest}, nil
	}
	repository := withoutTag(reference)
	if repository == reference || repository == "" {
		return Image{}, fmt.Errorf("--%s-image %q: write NAME:TAG or NAME@DIGEST", name, reference)
	}
	return Image{Name: name, NewName: repository, Tag: reference[len(repository)+1:]}, nil
}

func withoutTag(reference string) string {
	colon := strings.LastIndex(reference, ":")
	if colon > strings.LastIndex(reference, "/") {
		return reference[:colon]
	}
	return reference
}

// Written returns the images that were imported into the nodes of a local cluster.
func Written(images []image.Written) []Image {
	var all []Image
	for _, written := range images {
		all = append(all, Image{Name: written.Name, Tag: written.Tag})
	}
	return all
}
