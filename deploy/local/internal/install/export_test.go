package install

import "context"

// Render returns the manifests without connecting to a cluster.
func (c Config) Render(ctx context.Context) ([]byte, error) { return c.render(ctx, "") }
