package stock

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func (p *Plane) startEtcd(t *testing.T) string {
	t.Helper()
	clients, peers := "http://127.0.0.1:"+freePort(t), "http://127.0.0.1:"+freePort(t)
	p.run(t, "etcd", "--data-dir="+filepath.Join(p.dir, "etcd"), "--unsafe-no-fsync", "--log-level=error",
		"--listen-client-urls="+clients, "--advertise-client-urls="+clients, "--listen-peer-urls="+peers)
	return clients
}

func (p *Plane) startAPIServer(t *testing.T, secure string) {
	t.Helper()
	host, port, _ := net.SplitHostPort(secure)
	key := p.write(t, "service-account.key", privateKey(t))
	p.run(t, "kube-apiserver", "--etcd-servers="+p.Etcd, "--bind-address="+host, "--secure-port="+port,
		"--cert-dir="+filepath.Join(p.dir, "certs"), "--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+key, "--service-account-signing-key-file="+key,
		"--token-auth-file="+p.write(t, "tokens.csv", token+",admin,admin,system:masters\n"),
		"--authorization-mode=RBAC", "--service-cluster-ip-range=10.0.0.0/24", "--endpoint-reconciler-type=none",
		// There is no controller-manager that would make service accounts and clear the taints of new nodes.
		"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition")
}

// run runs a stock binary until the test ends, and shows what it said last if the test failed.
func (p *Plane) run(t *testing.T, name string, arguments ...string) {
	t.Helper()
	log, err := os.Create(filepath.Join(p.dir, name+".log"))
	require.NoError(t, err)
	command := exec.Command(filepath.Join(p.binaries, name), arguments...)
	command.Stdout, command.Stderr = log, log
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		_ = log.Close()
		if t.Failed() {
			said, _ := os.ReadFile(log.Name())
			t.Logf("%s: %s", name, said[max(0, len(said)-4000):])
		}
	})
}

func (p *Plane) write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(p.dir, name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	return port
}

func privateKey(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.MarshalECPrivateKey(key)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
}
