package install

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// minMinor is the first minor version of Kubernetes 1 that serves everything that the installation cannot leave out.
const minMinor = 31

const (
	admissionGroup = "/apis/admissionregistration.k8s.io"
	coreGroup      = "/api/v1"
	mutatingPolicy = "mutatingadmissionpolicies"
)

// Capabilities are what an API server serves, as far as Trellis depends on it.
type Capabilities struct {
	// MutatingPolicies is the API version of MutatingAdmissionPolicy: "v1" since Kubernetes 1.36, an older version if an
	// administrator has turned it on, and "" if there is none.
	MutatingPolicies string
	// Resize is set if pods can be resized in place.
	Resize bool
}

// Discover asks an API server what it serves. get returns the answer to a GET request, or nil if there is no such path.
func Discover(get func(path string) ([]byte, error)) (Capabilities, error) {
	var c Capabilities
	core, err := served(get, coreGroup)
	if err != nil {
		return c, err
	}
	c.Resize = slices.Contains(core, "pods/resize")
	for _, version := range []string{"v1", "v1beta1", "v1alpha1"} {
		resources, err := served(get, admissionGroup+"/"+version)
		if err != nil {
			return c, err
		}
		if slices.Contains(resources, mutatingPolicy) {
			c.MutatingPolicies = version
			return c, nil
		}
	}
	return c, nil
}

// served returns the names of the resources of an API version.
func served(get func(path string) ([]byte, error), path string) ([]string, error) {
	answer, err := get(path)
	if err != nil || answer == nil {
		return nil, err
	}
	var list struct{ Resources []struct{ Name string } }
	if err := json.Unmarshal(answer, &list); err != nil {
		return nil, fmt.Errorf("decode %s: %w", path, err)
	}
	var names []string
	for _, r := range list.Resources {
		names = append(names, r.Name)
	}
	return names, nil
}

// capabilities asks the cluster's API server.
func (k Kubectl) capabilities(ctx context.Context) (Capabilities, error) {
	return Discover(func(path string) ([]byte, error) {
		out, err := k.run(ctx, nil, "get", "--raw", path)
		if err != nil && strings.Contains(err.Error(), "(NotFound)") {
			return nil, nil
		}
		return out, err
	})
}

// Adapt returns the manifests that the API server accepts. It gives mutating policies the API version that is served, or
// leaves them out.
func (c Capabilities) Adapt(manifests []byte) []byte {
	const separator = "\n---\n"
	const current = "apiVersion: admissionregistration.k8s.io/v1\n"
	var kept []string
	for _, document := range strings.Split(string(manifests), separator) {
		if !strings.Contains(document, "\nkind: MutatingAdmissionPolicy") {
			kept = append(kept, document)
			continue
		}
		if c.MutatingPolicies != "" {
			kept = append(kept, strings.Replace(document, current,
				"apiVersion: admissionregistration.k8s.io/"+c.MutatingPolicies+"\n", 1))
		}
	}
	return []byte(strings.Join(kept, separator))
}

// kinds returns the kinds of a comma-separated list that the API server serves.
func (c Capabilities) kinds(list string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(list, ","), func(kind string) bool {
		return c.MutatingPolicies == "" && strings.HasPrefix(kind, "mutatingadmission")
	}), ",")
}

// Losses says what does not work without the capabilities that are missing, and what to do about it.
func (c Capabilities) Losses(resource string) []string {
	var losses []string
	if c.MutatingPolicies == "" {
		losses = append(losses, fmt.Sprintf("the cluster has no MutatingAdmissionPolicy (Kubernetes 1.36, or its feature gate "+
			"and API version before): the annotation alone is refused with a message. Write two more lines into each pod: "+
			"spec.schedulerName: trellis, and the container's resources.limits: {%s: UNITS}, one unit for each GiB. Tolerations "+
			"of GPU taints and variables such as OMP_NUM_THREADS are not added either", resource))
	}
	if !c.Resize {
		losses = append(losses, "the cluster cannot resize pods in place (Kubernetes 1.33): CPU shares do not change. The "+
			"component enforce-cgroup sets them in the pods' cgroups instead")
	}
	return losses
}
