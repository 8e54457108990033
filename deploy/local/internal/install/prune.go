package install

import (
	"context"
	"fmt"
	"io"
	"strings"
)

// The label of every object of an installation. Objects with this label that are no longer in the manifests are deleted.
const (
	ownedKey   = "app.kubernetes.io/managed-by"
	ownedLabel = ownedKey + "=" + fieldManager
)

// clusterKinds are the kinds of the objects outside of the namespace, those that depend on others first.
var clusterKinds = []string{
	"mutatingadmissionpolicybindings,validatingadmissionpolicybindings",
	"mutatingadmissionpolicies,validatingadmissionpolicies",
	"clusterrolebindings,clusterroles",
}

// namespacedKinds are the kinds of the objects in the namespace, without ConfigMaps: each version has a name of its own, and a rollback needs the previous one.
const namespacedKinds = "deployments,statefulsets,daemonsets,services,serviceaccounts,poddisruptionbudgets,roles,rolebindings"

// prune deletes objects of an earlier installation that the applied manifests no longer have, such as the permissions of
// a component that was taken out.
func (k Kubectl) prune(ctx context.Context, capabilities Capabilities, applied map[string]bool, out io.Writer) error {
	kinds := append([]string{namespacedKinds}, clusterKinds...)
	for _, kind := range kinds {
		var owned struct{ Items []object }
		if err := k.get(ctx, &owned, capabilities.kinds(kind), "--all-namespaces", "--selector="+ownedLabel); err != nil {
			return err
		}
		for _, o := range owned.Items {
			if applied[o.String()] {
				continue
			}
			fmt.Fprintf(out, "deleting %s, which is no longer part of the installation\n", o)
			args := []string{"delete", "--ignore-not-found", strings.ToLower(o.Kind), o.Metadata.Name}
			if o.Metadata.Namespace != "" {
				args = append(args, "--namespace="+o.Metadata.Namespace)
			}
			if _, err := k.run(ctx, nil, args...); err != nil {
				return err
			}
		}
	}
	return nil
}
