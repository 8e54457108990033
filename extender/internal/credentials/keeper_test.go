package credentials_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/extender/internal/credentials"
)

// authority signs certificates for one test.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	a := authority{t: t}
	a.cert, a.key = a.sign("authority", nil)
	return a
}

// sign makes a certificate; the authority's own where there is no authority yet.
func (a authority) sign(name string, usage []x509.ExtKeyUsage) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	require.NoError(a.t, err)
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: usage,
		BasicConstraintsValid: true, IsCA: a.cert == nil, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	require.NoError(a.t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(a.t, err)
	return cert, key
}

func (a authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// serves writes a new certificate of the server's into the folder, as a renewal would.
func (a authority) serves(dir, name string) credentials.Files {
	a.t.Helper()
	cert, key := a.sign(name, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth})
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(a.t, err)
	files := credentials.Files{Cert: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key"), ClientCA: filepath.Join(dir, "ca.crt")}
	write(a.t, files.Cert, "CERTIFICATE", cert.Raw)
	write(a.t, files.Key, "PRIVATE KEY", secret)
	write(a.t, files.ClientCA, "CERTIFICATE", a.cert.Raw)
	return files
}

func write(t *testing.T, name, kind string, der []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}

// shake connects a client to the keeper, and returns the name on the certificate that it is shown. Both sides must agree.
func shake(t *testing.T, k *credentials.Keeper, trusted *x509.CertPool, client *tls.Certificate) (string, error) {
	t.Helper()
	near, far := net.Pipe()
	defer near.Close()
	served := make(chan error, 1)
	go func() {
		defer far.Close()
		served <- tls.Server(far, k.Config()).Handshake()
	}()
	config := &tls.Config{RootCAs: trusted, InsecureSkipVerify: trusted == nil, ServerName: "extender"}
	if client != nil {
		config.Certificates = []tls.Certificate{*client}
	}
	connection := tls.Client(near, config)
	if err := connection.Handshake(); err != nil {
		return "", err
	}
	go func() { _, _ = connection.Read(make([]byte, 1)) }() // TLS 1.3: the client hears of a refusal only now
	if err := <-served; err != nil {
		return "", err
	}
	return connection.ConnectionState().PeerCertificates[0].SerialNumber.String(), nil
}

func client(a authority) *tls.Certificate {
	cert, key := a.sign("scheduler", []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth})
	return &tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}
}

func TestOnlyClientsOfTheAuthorityConnect(t *testing.T) {
	ours, theirs := newAuthority(t), newAuthority(t)
	k, err := credentials.Load(ours.serves(t.TempDir(), "extender"), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	_, err = shake(t, k, ours.pool(), client(ours))
	require.NoError(t, err)
	_, err = shake(t, k, ours.pool(), nil)
	require.ErrorContains(t, err, "didn't provide a certificate")
	_, err = shake(t, k, ours.pool(), client(theirs))
	require.ErrorContains(t, err, "unknown authority")
	server, key := ours.sign("extender", []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth})
	_, err = shake(t, k, ours.pool(), &tls.Certificate{Certificate: [][]byte{server.Raw}, PrivateKey: key})
	require.ErrorContains(t, err, "incompatible key usage", "a server's certificate is no client's")
}

func TestRenewedCertificatesServeWithoutARestart(t *testing.T) {
	a, dir := newAuthority(t), t.TempDir()
	k, err := credentials.Load(a.serves(dir, "extender"), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	scheduler := client(a)
	shown := func() string {
		t.Helper()
		name, err := shake(t, k, a.pool(), scheduler)
		require.NoError(t, err)
		return name
	}
	before := shown()

	files := a.serves(dir, "extender")
	later := func(by time.Duration) { // as if written then
		for _, name := range []string{files.Cert, files.Key, files.ClientCA} {
			require.NoError(t, os.Chtimes(name, time.Now().Add(by), time.Now().Add(by)))
		}
	}
	later(time.Minute)
	require.Eventually(t, func() bool { return shown() != before }, 10*time.Second, 50*time.Millisecond)
	renewed := shown()

	require.NoError(t, os.WriteFile(files.Key, []byte("half a key"), 0o600))
	later(2 * time.Minute)
	require.Never(t, func() bool { return shown() != renewed }, 1500*time.Millisecond, 100*time.Millisecond, "the last good one serves on")
	require.NoError(t, os.Remove(files.Cert))
	require.Equal(t, renewed, shown())
}

func TestFilesThatCanNotBeUsedAreNamed(t *testing.T) {
	a, dir := newAuthority(t), t.TempDir()
	for says, spoil := range map[string]func(credentials.Files){
		"tls.crt":              func(f credentials.Files) { _ = os.Remove(f.Cert) },
		"tls.key":              func(f credentials.Files) { _ = os.WriteFile(f.Key, nil, 0o600) },
		"holds no certificate": func(f credentials.Files) { _ = os.WriteFile(f.ClientCA, []byte("none"), 0o600) },
	} {
		files := a.serves(dir, "extender")
		spoil(files)
		_, err := credentials.Load(files, slog.New(slog.DiscardHandler))
		require.ErrorContains(t, err, says)
	}
	require.NoError(t, credentials.Files{}.Validate())
	require.NoError(t, credentials.Files{Cert: "a", Key: "b", ClientCA: "c"}.Validate())
	require.ErrorContains(t, credentials.Files{Cert: "a", Key: "b"}.Validate(), "belong together")
}
