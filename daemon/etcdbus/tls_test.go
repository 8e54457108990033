package etcdbus_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/client/pkg/v3/transport"

	"github.com/trellis-gpu/trellis/daemon/etcdbus"
	"github.com/trellis-gpu/trellis/daemon/etcdbus/etcdtest"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// TestTLS_VerifiesTheServerName connects as a pod does: by an IP address, which no certificate contains.
func TestTLS_VerifiesTheServerName(t *testing.T) {
	files := writePair(t, "trellis-etcd")
	server := etcdtest.NewTLS(t, files)
	c := etcdbus.Config{
		Endpoints: []string{server.URL()}, SessionTTL: 2 * time.Second,
		CAFile: files.TrustedCAFile, CertFile: files.CertFile, KeyFile: files.KeyFile, ServerName: "trellis-etcd",
	}
	b, err := etcdbus.Open(c)
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.Close() })
	_, err = b.Put(t.Context(), "/n/a", []byte("1"), bus.Persistent)
	require.NoError(t, err)

	c.ServerName = "another-name"
	other, err := etcdbus.Open(c)
	require.NoError(t, err)
	t.Cleanup(func() { _ = other.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, _, err = other.List(ctx, "/n/")
	require.ErrorIs(t, err, bus.ErrUnavailable)
}

// writePair writes a self-signed certificate for name, which server and client both use.
func writePair(t *testing.T, name string) transport.TLSInfo {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	write := func(file, kind string, der []byte) string {
		path := filepath.Join(t.TempDir(), file)
		require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
		return path
	}
	certFile := write("tls.crt", "CERTIFICATE", cert)
	return transport.TLSInfo{CertFile: certFile, KeyFile: write("tls.key", "PRIVATE KEY", private), TrustedCAFile: certFile, ClientCertAuth: true}
}
