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
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"

	"github.com/trellis-gpu/trellis/daemon/etcdbus"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// TestTheServerIsKnownByItsNameNotByItsAddress is how a pod reaches the bus: by an IP address, which is on no
// certificate.
func TestTheServerIsKnownByItsNameNotByItsAddress(t *testing.T) {
	files := writePair(t, "trellis-etcd")
	server := startSecure(t, files)
	c := etcdbus.Config{
		Endpoints: []string{"https://" + server.Clients[0].Addr().String()}, SessionTTL: 2 * time.Second,
		CAFile: files.TrustedCAFile, CertFile: files.CertFile, KeyFile: files.KeyFile, ServerName: "trellis-etcd",
	}
	b, err := etcdbus.Open(c)
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.Close() })
	_, err = b.Put(t.Context(), "/n/a", []byte("1"), bus.Persistent)
	require.NoError(t, err)

	c.ServerName = "somebody-else"
	stranger, err := etcdbus.Open(c)
	require.NoError(t, err)
	t.Cleanup(func() { _ = stranger.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, _, err = stranger.List(ctx, "/n/")
	require.ErrorIs(t, err, bus.ErrUnavailable)
}

func startSecure(t *testing.T, files transport.TLSInfo) *embed.Etcd {
	t.Helper()
	c := embed.NewConfig()
	c.Dir, c.LogLevel, c.LogOutputs, c.UnsafeNoFsync = t.TempDir(), "error", []string{"/dev/null"}, true
	client, peer := must(t, "https://127.0.0.1:0"), must(t, "http://127.0.0.1:0")
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	c.ListenPeerUrls, c.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	c.ClientTLSInfo = files
	server, err := embed.StartEtcd(c)
	require.NoError(t, err)
	t.Cleanup(server.Close)
	<-server.Server.ReadyNotify()
	return server
}

// writePair writes a certificate for name that vouches for itself, for server and client at once.
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
