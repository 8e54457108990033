package install_test

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deploy/local/internal/pki"
	"github.com/trellis-gpu/trellis/deploy/local/internal/stock"
)

// apiServer is a stock kube-apiserver on its own etcd, and nothing else: no controller, no node.
type apiServer struct {
	url, kubectl string
	http         *http.Client
}

const testToken = "for-this-test-only"

// stockFolder finds the stock programs where a local cluster keeps them. It never builds them: that takes minutes.
func stockFolder(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("TRELLIS_STOCK_DIR")
	if dir == "" {
		key, err := stock.Key("../..", runtime.Version(), stock.All())
		require.NoError(t, err)
		cache, err := stock.CacheRoot(os.Getenv)
		require.NoError(t, err)
		dir = filepath.Join(cache, "stock", key)
	}
	if missing := stock.Missing(dir, stock.ControlPlane()); len(missing) > 0 {
		t.Skipf("no stock %s in %s: `bin/local build` makes them, or name their folder in TRELLIS_STOCK_DIR", stock.Names(missing), dir)
	}
	return dir
}

func startAPIServer(t *testing.T) apiServer {
	t.Helper()
	dir, stockDir := t.TempDir(), stockFolder(t)
	client, peer, port := freePort(t), freePort(t), freePort(t)
	require.NoError(t, pki.WriteKey(filepath.Join(dir, "account.key")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tokens"), []byte(testToken+",admin,1,system:masters\n"), 0o600))

	start(t, dir, filepath.Join(stockDir, "etcd"),
		"--data-dir="+filepath.Join(dir, "etcd"), "--unsafe-no-fsync", "--log-level=error",
		"--listen-client-urls=http://127.0.0.1:"+client, "--advertise-client-urls=http://127.0.0.1:"+client,
		"--listen-peer-urls=http://127.0.0.1:"+peer, "--initial-advertise-peer-urls=http://127.0.0.1:"+peer,
		"--initial-cluster=default=http://127.0.0.1:"+peer)
	start(t, dir, filepath.Join(stockDir, "kube-apiserver"),
		"--etcd-servers=http://127.0.0.1:"+client,
		"--bind-address=127.0.0.1", "--secure-port="+port, "--cert-dir="+filepath.Join(dir, "certs"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+filepath.Join(dir, "account.key"),
		"--service-account-signing-key-file="+filepath.Join(dir, "account.key"),
		"--token-auth-file="+filepath.Join(dir, "tokens"), "--authorization-mode=RBAC",
		"--service-cluster-ip-range=10.0.0.0/24", "--endpoint-reconciler-type=none",
		"--disable-admission-plugins=ServiceAccount")

	api := apiServer{url: "https://127.0.0.1:" + port, kubectl: filepath.Join(stockDir, "kubectl"), http: &http.Client{
		Timeout:   10 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, // its certificate is of its own making
	}}
	t.Cleanup(api.http.CloseIdleConnections)
	require.Eventually(t, api.ready, time.Minute, 200*time.Millisecond, "see %s", dir)
	return api
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

func start(t *testing.T, dir, program string, args ...string) {
	t.Helper()
	log, err := os.Create(filepath.Join(dir, filepath.Base(program)+".log"))
	require.NoError(t, err)
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, dir
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		log.Close()
	})
}

func (a apiServer) ready() bool {
	code, _, err := a.do(http.MethodGet, "/readyz", nil)
	return err == nil && code == http.StatusOK
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

// patch merges into an object, as another user where one is named.
func (a apiServer) patch(t *testing.T, path, user string, body []byte) (int, []byte) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPatch, a.url+path, bytes.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+testToken)
	req.Header.Set("Content-Type", "application/merge-patch+json")
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
