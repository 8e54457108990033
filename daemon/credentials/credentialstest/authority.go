// Package credentialstest issues certificates for tests of TLS servers and clients.
package credentialstest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/daemon/credentials"
)

// Authority signs certificates for one test.
type Authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// New returns an authority that only this test trusts.
func New(t *testing.T) Authority {
	t.Helper()
	a := Authority{t: t}
	a.cert, a.key = a.sign("authority", nil)
	return a
}

// Pool returns a pool that contains the authority.
func (a Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// Server writes a new certificate of a server into dir, and replaces an earlier one like a renewal.
func (a Authority) Server(dir, name string) credentials.Files {
	a.t.Helper()
	return a.write(dir, name, x509.ExtKeyUsageServerAuth)
}

// Client writes a new certificate of a client into dir. ClientCA is the authority that signs its servers' certificates.
func (a Authority) Client(dir, name string) credentials.Files {
	a.t.Helper()
	return a.write(dir, name, x509.ExtKeyUsageClientAuth)
}

// Certificate returns a new certificate without writing it to a file.
func (a Authority) Certificate(name string, usage x509.ExtKeyUsage) *tls.Certificate {
	a.t.Helper()
	cert, key := a.sign(name, []x509.ExtKeyUsage{usage})
	return &tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}
}

// sign issues a certificate. The first one is self-signed: it is the authority's own.
func (a Authority) sign(name string, usage []x509.ExtKeyUsage) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	require.NoError(a.t, err)
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: name},
		DNSNames:              []string{name},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		ExtKeyUsage:           usage,
		BasicConstraintsValid: true,
		IsCA:                  a.cert == nil,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
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

func (a Authority) write(dir, name string, usage x509.ExtKeyUsage) credentials.Files {
	a.t.Helper()
	cert, key := a.sign(name, []x509.ExtKeyUsage{usage})
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(a.t, err)
	files := credentials.Files{Cert: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key"), ClientCA: filepath.Join(dir, "ca.crt")}
	for name, block := range map[string]*pem.Block{
		files.Cert: {Type: "CERTIFICATE", Bytes: cert.Raw}, files.Key: {Type: "PRIVATE KEY", Bytes: secret}, files.ClientCA: {Type: "CERTIFICATE", Bytes: a.cert.Raw},
	} {
		require.NoError(a.t, os.WriteFile(name, pem.EncodeToMemory(block), 0o600))
	}
	return files
}
