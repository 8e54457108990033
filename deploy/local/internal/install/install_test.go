package install_test

import (
	"bytes"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deploy/local/internal/install"
)

// config installs deploy/base into the API server. There are no controllers, so nothing becomes ready and no test waits for it.
func (a apiServer) config(t *testing.T, components ...string) install.Config {
	t.Helper()
	deploy, err := filepath.Abs("../../..")
	require.NoError(t, err)
	return install.Config{
		Kubectl: install.Kubectl{
			Program: a.kubectl,
			Args:    []string{"--server=" + a.url, "--insecure-skip-tls-verify", "--token=" + testToken},
		},
		Deploy:     deploy,
		Overlay:    filepath.Join(deploy, "base"),
		Components: components,
		Images:     []install.Image{{Name: "extender", NewName: "example.com/x/extender", Digest: "sha256:" + string(bytes.Repeat([]byte("0"), 64))}},
	}
}

func (a apiServer) exists(t *testing.T, path string) bool {
	t.Helper()
	code, _, err := a.do(http.MethodGet, path, nil)
	require.NoError(t, err)
	return code == http.StatusOK
}

func (a apiServer) text(t *testing.T, path string) string {
	t.Helper()
	code, answer, err := a.do(http.MethodGet, path, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, code, path)
	return string(answer)
}

const (
	secretPath   = "/api/v1/namespaces/trellis/secrets/trellis-bus-extender"
	extenderPath = "/apis/apps/v1/namespaces/trellis/deployments/extender"
	roles        = "/apis/rbac.authorization.k8s.io/v1/clusterroles/"
)

func installed(t *testing.T, c install.Config) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, c.Install(t.Context(), &out))
	return out.String()
}

func TestInstall_FromNothingToUninstall(t *testing.T) {
	api := startAPIServer(t)

	require.Contains(t, installed(t, api.config(t, "recreate")), "creating the bus's certificates")
	certificate := api.text(t, secretPath)
	deployment := api.text(t, extenderPath)
	require.Contains(t, deployment, "example.com/x/extender@sha256:000")
	require.True(t, api.exists(t, roles+"trellis-recreate"))

	t.Run("again changes nothing", func(t *testing.T) {
		require.NotContains(t, installed(t, api.config(t, "recreate")), "certificates")
		require.Equal(t, certificate, api.text(t, secretPath))
		require.JSONEq(t, deployment, api.text(t, extenderPath))
	})
	t.Run("what a component added goes with it", func(t *testing.T) {
		require.Contains(t, installed(t, api.config(t)), "deleting clusterrole trellis-recreate")
		require.False(t, api.exists(t, roles+"trellis-recreate"))
		require.True(t, api.exists(t, roles+"trellis-extender"))
	})
	t.Run("certificates that cannot be used stay until --renew", func(t *testing.T) {
		code, _, err := api.do(http.MethodDelete, secretPath, nil)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, code)
		c := api.config(t)
		require.ErrorContains(t, c.Install(t.Context(), &bytes.Buffer{}), "--renew")
		require.False(t, api.exists(t, secretPath))
		c.Renewal = install.RenewAlways
		require.Contains(t, installed(t, c), "renewing the bus's certificates")
		require.NotEqual(t, certificate, api.text(t, secretPath))
		require.NotEqual(t, deployment, api.text(t, extenderPath), "another authority restarts the pods")
	})
	t.Run("a dry run of uninstall deletes nothing", func(t *testing.T) {
		var out bytes.Buffer
		require.NoError(t, api.config(t).Uninstall(t.Context(), true, &out))
		require.Contains(t, out.String(), "trellis-extender")
		require.True(t, api.exists(t, roles+"trellis-extender"))
	})
	t.Run("uninstall", func(t *testing.T) {
		// No controller empties the namespace, so there is nothing to wait for.
		require.NoError(t, api.config(t).Uninstall(t.Context(), false, &bytes.Buffer{}))
		require.False(t, api.exists(t, roles+"trellis-extender"))
		require.False(t, api.exists(t, extenderPath))
		require.False(t, api.exists(t, "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies/trellis-share"))
	})
}

func TestInstall_ChecksTheClusterFirst(t *testing.T) {
	api := startAPIServer(t)
	code, answer := api.post(t, "/api/v1/nodes", []byte(`{"apiVersion":"v1","kind":"Node","metadata":{"name":"gpu-1","labels":{"nvidia.com/gpu.present":"true"}}}`))
	require.Equal(t, http.StatusCreated, code, "%s", answer)

	c := api.config(t)
	c.Check = install.CheckStrict
	err := c.Install(t.Context(), &bytes.Buffer{})
	require.ErrorContains(t, err, "kubectl label nodes gpu-1 gpushare=true")
	require.ErrorContains(t, err, "--component ephemeral-bus")
	require.False(t, api.exists(t, "/api/v1/namespaces/trellis"))

	c = api.config(t, "ephemeral-bus")
	c.Check = install.CheckWarn
	require.Contains(t, installed(t, c), "warning: no node has the label gpushare=true")

	code, answer = api.patch(t, "/api/v1/nodes/gpu-1", "", []byte(`{"metadata":{"labels":{"gpushare":"true"}}}`))
	require.Equal(t, http.StatusOK, code, "%s", answer)
	c.Check = install.CheckStrict
	require.NotContains(t, installed(t, c), "warning")
}
