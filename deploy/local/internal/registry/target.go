package registry

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Target is the registry, the prefix and the tag of the images of one installation.
type Target struct {
	// Address is HOST[:PORT]/PREFIX; the prefix may be empty.
	Address string
	Tag     string
	// PlainHTTP accepts a registry without TLS on an address that is not a loopback address.
	PlainHTTP bool
}

// Validate returns an error if the address or the tag cannot name an image.
func (t Target) Validate() error {
	host, _, _ := strings.Cut(t.Address, "/")
	switch {
	case t.Address == "":
		return fmt.Errorf("no registry given: --registry HOST[:PORT]/PREFIX (make images REGISTRY=…)")
	case strings.Contains(t.Address, "://"):
		return fmt.Errorf("registry %q: leave the scheme out, write HOST[:PORT]/PREFIX", t.Address)
	case host != "localhost" && !strings.ContainsAny(host, ".:"):
		return fmt.Errorf("registry %q: %q is not a host name, write HOST[:PORT]/PREFIX", t.Address, host)
	case t.Tag == "":
		return fmt.Errorf("no tag given: --tag TAG (make images TAG=…)")
	}
	_, err := t.reference("image")
	return err
}

// Repository is the name of an image without a tag.
func (t Target) Repository(image string) string {
	return strings.TrimSuffix(t.Address, "/") + "/" + image
}

// Host is the part of the address that credentials are stored under.
func (t Target) Host() string {
	host, _, _ := strings.Cut(t.Address, "/")
	return host
}

func (t Target) reference(image string) (name.Tag, error) {
	options := []name.Option{name.StrictValidation}
	if t.PlainHTTP {
		options = append(options, name.Insecure)
	}
	tag, err := name.NewTag(t.Repository(image)+":"+t.Tag, options...)
	if err != nil {
		return name.Tag{}, fmt.Errorf("registry %q, tag %q: %w", t.Address, t.Tag, err)
	}
	return tag, nil
}

// Digest returns the digest that the tag of an image refers to, and false if the registry has no such tag.
func (t Target) Digest(ctx context.Context, image string) (v1.Hash, bool, error) {
	tag, err := t.reference(image)
	if err != nil {
		return v1.Hash{}, false, err
	}
	descriptor, err := remote.Head(tag, t.options(ctx)...)
	if hasStatus(err, http.StatusNotFound) {
		return v1.Hash{}, false, nil
	}
	if err != nil {
		return v1.Hash{}, false, t.explain(err)
	}
	return descriptor.Digest, true, nil
}

func (t Target) options(ctx context.Context) []remote.Option {
	return []remote.Option{
		remote.WithContext(ctx),
		remote.WithAuthFromKeychain(authn.DefaultKeychain),
		remote.WithTransport(secureTransport{next: remote.DefaultTransport, plainHTTP: t.PlainHTTP}),
		remote.WithUserAgent("trellis"),
	}
}
