package install_test

import (
	"bytes"
	"crypto/tls"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/daemon/controlplanetest"
)

// apiServer is a stock kube-apiserver on its own etcd, and nothing else: no controller, no node.
type apiServer struct {
	url, kubectl string
	http         *http.Client
	plane        *controlplanetest.Plane
}

const testToken = "for-this-test-only"

func stockFolder(t *testing.T) string {
	t.Helper()
	dir := controlplanetest.StockDir()
	if dir == "" {
		t.Skip("needs TRELLIS_STOCK_DIR, a folder with etcd, kube-apiserver and kubectl; `bin/local build` prints one")
	}
	return dir
}

func startAPIServer(t *testing.T, flags ...string) apiServer {
	t.Helper()
	return startAPIServerOf(t, stockFolder(t), flags...)
}

func startAPIServerOf(t *testing.T, stockDir string, flags ...string) apiServer {
	t.Helper()
	plane, err := controlplanetest.Start(t.Context(), controlplanetest.Options{
		StockDir:       stockDir,
		Dir:            t.TempDir(),
		Users:          []string{testToken},
		APIServerFlags: append([]string{"--authorization-mode=RBAC", "--disable-admission-plugins=ServiceAccount"}, flags...),
	})
	t.Cleanup(plane.Close)
	require.NoError(t, err)
	api := apiServer{url: plane.URL, kubectl: filepath.Join(stockDir, "kubectl"), plane: plane, http: &http.Client{
		Timeout:   10 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, // its certificate is self-signed
	}}
	t.Cleanup(api.http.CloseIdleConnections)
	return api
}

func (a apiServer) do(method, path string, body []byte) (int, []byte, error) {
	req, err := http.NewRequest(method, a.url+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+testToken)
	req.Header.Set("Content-Type", "application/json")
	resp, err := a.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return resp.StatusCode, answer, err
}

func (a apiServer) post(t *testing.T, path string, body []byte) (int, []byte) {
	t.Helper()
	code, answer, err := a.do(http.MethodPost, path, body)
	require.NoError(t, err)
	return code, answer
}

// warned posts, and returns the warnings of the answer too.
func (a apiServer) warned(t *testing.T, path string, body []byte) (code int, answer []byte, warnings []string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, a.url+path, bytes.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+testToken)
	req.Header.Set("Content-Type", "application/json")
	resp, err := a.http.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	require.NoError(t, err)
	return resp.StatusCode, answer, resp.Header.Values("Warning")
}

// patch merges into an object, as another user where one is named.
func (a apiServer) patch(t *testing.T, path, user string, body []byte) (int, []byte) {
	t.Helper()
	return a.send(t, http.MethodPatch, "application/merge-patch+json", path, user, body)
}

// send sends a request, as another user where one is named.
func (a apiServer) send(t *testing.T, method, contentType, path, user string, body []byte) (int, []byte) {
	t.Helper()
	req, err := http.NewRequest(method, a.url+path, bytes.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+testToken)
	req.Header.Set("Content-Type", contentType)
	if user != "" {
		req.Header.Set("Impersonate-User", user)
	}
	resp, err := a.http.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	require.NoError(t, err)
	return resp.StatusCode, answer
}

func (a apiServer) apply(t *testing.T, folder string) {
	t.Helper()
	out, err := exec.Command(a.kubectl, "--server="+a.url, "--insecure-skip-tls-verify", "--token="+testToken,
		"apply", "--server-side", "-k", folder).CombinedOutput()
	require.NoError(t, err, "%s", out)
}
