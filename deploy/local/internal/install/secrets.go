package install

import (
	"context"
	"fmt"
	"io"
	"time"
)

// ensureSecrets creates the namespace and the bus's certificates in it, unless good ones are there, and returns which
// authority they are from.
func (k kubectl) ensureSecrets(ctx context.Context, namespace string, now time.Time, out io.Writer) (string, error) {
	if _, err := k.run(ctx, nil, "apply", "--server-side", "--field-manager=trellis-install", "-f", namespace); err != nil {
		return "", err
	}
	var present struct{ Items Secrets }
	if err := k.get(ctx, &present, "secrets", "-n", Namespace); err != nil {
		return "", err
	}
	why := present.Items.Check(now)
	if why == nil {
		return present.Items.Authority(), nil
	}
	if len(present.Items) > 0 {
		fmt.Fprintf(out, "renewing the bus's certificates: %v\n", why)
	}
	secrets, err := NewSecrets(now)
	if err != nil {
		return "", err
	}
	manifest, err := secrets.Manifest()
	if err != nil {
		return "", err
	}
	return secrets.Authority(), k.apply(ctx, manifest)
}
