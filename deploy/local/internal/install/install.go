package install

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"
)

// Install installs Trellis into the cluster, or updates the installation. Progress is written to out.
func (c Config) Install(ctx context.Context, out io.Writer) error {
	begin := time.Now()
	if err := c.preflight(ctx, out); err != nil {
		return err
	}
	capabilities, err := c.Kubectl.capabilities(ctx)
	if err != nil {
		return err
	}
	authority, err := c.ensureCertificates(ctx, time.Now(), out)
	if err != nil {
		return err
	}
	manifests, err := c.render(ctx, authority)
	if err != nil {
		return err
	}
	manifests = capabilities.Adapt(manifests)
	applied, err := parseObjects(manifests)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "applying %d objects\n", len(applied))
	if err := c.Kubectl.apply(ctx, manifests); err != nil {
		return err
	}
	resource, err := resourceName(manifests)
	if err != nil {
		return err
	}
	if c.Timeout > 0 {
		if err := c.Kubectl.waitReady(ctx, resource, c.Timeout, out); err != nil {
			return err
		}
	}
	if err := c.Kubectl.prune(ctx, capabilities, applied, out); err != nil {
		return err
	}
	for _, loss := range capabilities.Losses(resource) {
		fmt.Fprintln(out, "note: "+loss)
	}
	if c.Timeout == 0 {
		_, err := fmt.Fprintln(out, "Trellis is applied; it may not be ready yet")
		return err
	}
	fmt.Fprintf(out, "Trellis is installed after %s\n", time.Since(begin).Round(time.Second))
	return c.Kubectl.describe(ctx, resource, out)
}

// Manifests returns what Install would apply, besides the certificates. Nothing in the cluster changes.
func (c Config) Manifests(ctx context.Context) ([]byte, error) {
	secrets, err := c.Kubectl.secrets(ctx)
	if err != nil {
		return nil, err
	}
	authority := ""
	if len(secrets) > 0 {
		authority = secrets.Authority()
	}
	capabilities, err := c.Kubectl.capabilities(ctx)
	if err != nil {
		return nil, err
	}
	manifests, err := c.render(ctx, authority)
	return capabilities.Adapt(manifests), err
}

func (c Config) namespaceManifest() string { return filepath.Join(c.Deploy, "base", "namespace.yaml") }
