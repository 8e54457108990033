package pki

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func load(t *testing.T, dir, name string) *x509.Certificate {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key"))
	require.NoError(t, err)
	return pair.Leaf
}

func TestIssue_SignsTheSubject(t *testing.T) {
	dir := t.TempDir()
	ca, err := NewAuthority(dir, "ca", now)
	require.NoError(t, err)
	addr := netip.MustParseAddr("10.64.0.11")
	require.NoError(t, ca.Issue("server", Subject{User: "system:node:node-1", Groups: []string{"system:nodes"},
		Names: []string{"node-1"}, Addrs: []netip.Addr{addr}}))
	require.NoError(t, ca.Issue("client", Subject{User: "admin"}))

	roots := x509.NewCertPool()
	roots.AddCert(load(t, dir, "ca"))
	verify := func(name string, usage x509.ExtKeyUsage) error {
		_, err := load(t, dir, name).Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{usage}})
		return err
	}
	server := load(t, dir, "server")
	require.Equal(t, "system:node:node-1", server.Subject.CommonName)
	require.Equal(t, []string{"system:nodes"}, server.Subject.Organization)
	require.NoError(t, server.VerifyHostname("node-1"))
	require.NoError(t, server.VerifyHostname("10.64.0.11"))
	require.NoError(t, verify("server", x509.ExtKeyUsageServerAuth))
	require.NoError(t, verify("client", x509.ExtKeyUsageClientAuth))
	require.Error(t, verify("client", x509.ExtKeyUsageServerAuth), "a client certificate is not valid for a server")

	stranger, err := NewAuthority(t.TempDir(), "ca", now)
	require.NoError(t, err)
	_, err = server.Verify(x509.VerifyOptions{Roots: poolOf(stranger.cert), CurrentTime: now})
	require.Error(t, err)
}

func poolOf(c *x509.Certificate) *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(c)
	return pool
}

func TestWriteKey_PermitsTheOwnerOnly(t *testing.T) {
	dir := t.TempDir()
	_, err := NewAuthority(dir, "ca", now)
	require.NoError(t, err)
	require.NoError(t, WriteKey(filepath.Join(dir, "sa.key")))
	for _, key := range []string{"ca.key", "sa.key"} {
		info, err := os.Stat(filepath.Join(dir, key))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
}

func TestKubeconfig_EmbedsItsCertificates(t *testing.T) {
	dir := t.TempDir()
	ca, err := NewAuthority(dir, "ca", now)
	require.NoError(t, err)
	path := filepath.Join(dir, "kube-proxy.kubeconfig")
	require.NoError(t, ca.Kubeconfig(path, "trellis", "https://10.64.0.1:6443", Subject{User: "system:kube-proxy"}))
	text, err := os.ReadFile(path)
	require.NoError(t, err)

	data := regexp.MustCompile(`(-data: )(\S+)`)
	for _, found := range data.FindAllSubmatch(text, -1) {
		pem, err := base64.StdEncoding.DecodeString(string(found[2]))
		require.NoError(t, err)
		require.Contains(t, string(pem), "-----BEGIN ")
	}
	golden, err := os.ReadFile("testdata/kubeconfig.yaml")
	require.NoError(t, err)
	require.Equal(t, string(golden), string(data.ReplaceAll(text, []byte("${1}DATA"))))
}
