package install_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deploy/local/internal/install"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// discovery is the answers of an API server to GET requests.
type discovery map[string][]string

func (d discovery) get(path string) ([]byte, error) {
	resources, served := d[path]
	if !served {
		return nil, nil
	}
	var items []string
	for _, name := range resources {
		items = append(items, fmt.Sprintf(`{"name":%q}`, name))
	}
	return []byte(`{"kind":"APIResourceList","resources":[` + strings.Join(items, ",") + `]}`), nil
}

const (
	core      = "/api/v1"
	admission = "/apis/admissionregistration.k8s.io/"
)

func TestDiscover_ControlPlanes(t *testing.T) {
	validating := []string{"validatingadmissionpolicies", "validatingwebhookconfigurations"}
	both := append([]string{"mutatingadmissionpolicies", "mutatingadmissionpolicybindings"}, validating...)
	for name, tc := range map[string]struct {
		served discovery
		want   install.Capabilities
	}{
		"1.36": {
			discovery{core: {"pods", "pods/resize"}, admission + "v1": both, admission + "v1beta1": both},
			install.Capabilities{MutatingPolicies: "v1", Resize: true},
		},
		"1.34, as it comes": {
			discovery{core: {"pods", "pods/resize"}, admission + "v1": validating}, install.Capabilities{Resize: true},
		},
		"1.34 with the beta API": {
			discovery{core: {"pods", "pods/resize"}, admission + "v1": validating, admission + "v1beta1": both},
			install.Capabilities{MutatingPolicies: "v1beta1", Resize: true},
		},
		"1.32 with the alpha API": {
			discovery{core: {"pods"}, admission + "v1": validating, admission + "v1alpha1": both[:2]},
			install.Capabilities{MutatingPolicies: "v1alpha1"},
		},
		"1.31": {discovery{core: {"pods", "pods/status"}, admission + "v1": validating}, install.Capabilities{}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := install.Discover(tc.served.get)
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
	unreachable := errors.New("connection refused")
	_, err := install.Discover(func(string) ([]byte, error) { return nil, unreachable })
	require.ErrorIs(t, err, unreachable)
	_, err = install.Discover(func(string) ([]byte, error) { return []byte("<html>"), nil })
	require.ErrorContains(t, err, "decode /api/v1")
}

func TestAdapt_MutatingPolicies(t *testing.T) {
	manifests := rendered(t)
	all := strings.Count(string(manifests), "\nkind: MutatingAdmissionPolicy")
	require.Positive(t, all)
	require.Equal(t, string(manifests), string(install.Capabilities{MutatingPolicies: "v1"}.Adapt(manifests)))

	beta := string(install.Capabilities{MutatingPolicies: "v1beta1"}.Adapt(manifests))
	require.Equal(t, all, strings.Count(beta, "apiVersion: admissionregistration.k8s.io/v1beta1\nkind: MutatingAdmissionPolicy"))
	require.NotContains(t, beta, "v1beta1\nkind: ValidatingAdmissionPolicy")

	without := string(install.Capabilities{}.Adapt(manifests))
	require.NotContains(t, without, "kind: MutatingAdmissionPolicy")
	for _, kind := range []string{"\n---\n", "kind: ValidatingAdmissionPolicy\n", "kind: DaemonSet\n"} {
		difference := 0
		if kind == "\n---\n" {
			difference = all
		}
		require.Equal(t, strings.Count(string(manifests), kind)-difference, strings.Count(without, kind), "%q", kind)
	}
}

func TestLosses_SayWhatToDo(t *testing.T) {
	require.Empty(t, install.Capabilities{MutatingPolicies: "v1", Resize: true}.Losses(gpushare.Resource))
	losses := strings.Join(install.Capabilities{}.Losses("example.com/memory"), "\n")
	require.Contains(t, losses, "spec.schedulerName: trellis")
	require.Contains(t, losses, "resources.limits: {example.com/memory: UNITS}")
	require.Contains(t, losses, "enforce-cgroup")
}

// TestInstall_WithoutMutatingPolicies installs into an API server that serves no MutatingAdmissionPolicy, as those before
// Kubernetes 1.36 by default.
func TestInstall_WithoutMutatingPolicies(t *testing.T) {
	api := startAPIServer(t, "--feature-gates=MutatingAdmissionPolicy=false",
		"--runtime-config=admissionregistration.k8s.io/v1/mutatingadmissionpolicies=false,"+
			"admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings=false")
	out := api.installWithoutMutatingPolicies(t)
	require.NotContains(t, out, "cannot resize")
}

// installWithoutMutatingPolicies installs and uninstalls Trellis, and returns the output of the installation.
func (a apiServer) installWithoutMutatingPolicies(t *testing.T) string {
	t.Helper()
	require.False(t, a.exists(t, admission+"v1/mutatingadmissionpolicies"))
	c := a.config(t)
	out := installed(t, c)
	require.Contains(t, out, "note: the cluster has no MutatingAdmissionPolicy")
	require.True(t, a.exists(t, extenderPath))
	require.True(t, a.exists(t, admission+"v1/validatingadmissionpolicies/trellis-share"))

	manifests, err := c.Manifests(t.Context())
	require.NoError(t, err)
	require.NotContains(t, string(manifests), "kind: MutatingAdmissionPolicy")

	annotationAlone := []byte(`{"metadata":{"name":"p","annotations":{"gpushare/gpu-mem":"8Gi"}},` +
		`"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	require.Eventually(t, func() bool {
		code, answer := a.post(t, "/api/v1/namespaces/default/pods?dryRun=All", annotationAlone)
		return code != http.StatusCreated && strings.Contains(message(t, answer), gpushare.Resource)
	}, time.Minute, 100*time.Millisecond, "the annotation alone is refused with a message that names the limit")
	code, answer := a.post(t, "/api/v1/namespaces/default/pods?dryRun=All", []byte(`{"metadata":{"name":"p","annotations":`+
		`{"gpushare/gpu-mem":"8Gi"}},"spec":{"schedulerName":"trellis","containers":[{"name":"c","image":"i","resources":`+
		`{"limits":{"gpushare/gpu-mem":"8"}}}]}}`))
	require.Equal(t, http.StatusCreated, code, "%s", answer)

	require.NoError(t, c.Uninstall(t.Context(), false, &bytes.Buffer{}))
	require.False(t, a.exists(t, extenderPath))
	return out
}
