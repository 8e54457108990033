package install

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

// Renewal determines what happens to certificates that the cluster already has.
type Renewal int

const (
	// RenewNever keeps them. If they cannot be used, the installation fails.
	RenewNever Renewal = iota
	// RenewWhenDue replaces them if they cannot be used, or expire within a month.
	RenewWhenDue
	// RenewAlways replaces them.
	RenewAlways
)

// ensureCertificates creates the namespace, and in it the certificates of the bus unless they exist. It returns the
// identity of their authority.
func (c Config) ensureCertificates(ctx context.Context, now time.Time, out io.Writer) (string, error) {
	_, err := c.Kubectl.run(ctx, nil, "apply", "--server-side", "--field-manager="+fieldManager, "-f", c.namespaceManifest())
	if err != nil {
		return "", err
	}
	present, err := c.Kubectl.secrets(ctx)
	if err != nil {
		return "", err
	}
	keep, err := c.Renewal.decide(present, now, out)
	if err != nil {
		return "", err
	}
	if keep {
		return present.Authority(), nil
	}
	secrets, err := NewSecrets(now)
	if err != nil {
		return "", err
	}
	manifest, err := secrets.Manifest()
	if err != nil {
		return "", err
	}
	return secrets.Authority(), c.Kubectl.apply(ctx, manifest)
}

// decide returns true if the present certificates stay. It returns an error if they cannot be used and r forbids to replace
// them.
func (r Renewal) decide(present Secrets, now time.Time, out io.Writer) (bool, error) {
	if len(present) == 0 {
		fmt.Fprintln(out, "creating the bus's certificates")
		return false, nil
	}
	due := present.Check(now)
	switch {
	case r == RenewAlways:
		fmt.Fprintln(out, "renewing the bus's certificates")
		return false, nil
	case due == nil:
		return true, nil
	case r == RenewWhenDue:
		fmt.Fprintf(out, "renewing the bus's certificates: %v\n", due)
		return false, nil
	}
	if err := present.verify(now); err != nil {
		return false, fmt.Errorf("the bus's certificates in namespace %s cannot be used: %w; --renew replaces them", Namespace, err)
	}
	fmt.Fprintf(out, "the bus's certificates expire within a month: --renew replaces them (%v)\n", due)
	return true, nil
}

// secrets returns the bus's certificates that the cluster has.
func (k Kubectl) secrets(ctx context.Context) (Secrets, error) {
	var all struct{ Items Secrets }
	if err := k.get(ctx, &all, "secrets", "--namespace="+Namespace); err != nil {
		return nil, err
	}
	var ours Secrets
	for _, secret := range all.Items {
		if strings.HasPrefix(secret.Metadata.Name, secretPrefix) {
			ours = append(ours, secret)
		}
	}
	return ours, nil
}
