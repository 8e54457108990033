package apiserver_test

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/apiserver"
)

// writeKubeconfig writes a kubeconfig for the server with the given user.
func writeKubeconfig(t *testing.T, s *httptest.Server, user string) string {
	t.Helper()
	dir := t.TempDir()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	require.NoError(t, os.WriteFile(filepath.Join(dir, "token"), []byte(" from-file\n"), 0o600))
	path := filepath.Join(dir, "config")
	require.NoError(t, os.WriteFile(path, []byte(`
current-context: here
contexts: [{name: elsewhere, context: {cluster: b}}, {name: here, context: {cluster: a, user: u}}]
clusters: [{name: a, cluster: {server: "`+s.URL+`", certificate-authority-data: `+
		base64.StdEncoding.EncodeToString(ca)+`}}]
users: [{name: u, user: `+user+`}]
`), 0o600))
	return path
}

func TestOpen_Kubeconfig(t *testing.T) {
	shown := ""
	s := httptest.NewTLSServer(
		http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { shown = r.Header.Get("Authorization") }))
	defer s.Close()
	for user, want := range map[string]string{
		"{}":                 "",
		"{token: secret}":    "Bearer secret",
		"{tokenFile: token}": "Bearer from-file",
	} {
		c, err := apiserver.Open(writeKubeconfig(t, s, user))
		require.NoError(t, err)
		require.NoError(t, c.Create(context.Background(), "/x", 1), user)
		require.Equal(t, want, shown)
	}
}

func TestOpen_ExplainsMissingAccess(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	for user, words := range map[string]string{
		"{exec: {command: login}}":                  "logs in through a program",
		"{client-certificate: gone, client-key: k}": "gone",
		"{client-certificate-data: eA==}":           "user \"u\"",
	} {
		_, err := apiserver.Open(writeKubeconfig(t, s, user))
		require.ErrorContains(t, err, words)
	}
	_, err := apiserver.Open(filepath.Join(t.TempDir(), "none"))
	require.ErrorContains(t, err, "--kubeconfig")

	empty := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	_, err = apiserver.Open(empty)
	require.ErrorContains(t, err, "names no server")

	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	_, err = apiserver.Open("")
	require.ErrorContains(t, err, "not running in a pod")
}

func FuzzKubeconfig(f *testing.F) {
	f.Add(
		"current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: " +
			"{server: s}}]\n")
	f.Add("users: 7")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, content string) {
		if strings.Contains(content, "/dev") { // a kubeconfig can name files; keep the fuzzer away from devices
			return
		}
		path := filepath.Join(dir, "config")
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		if c, err := apiserver.Open(path); err == nil {
			require.NotNil(t, c)
		}
	})
}
