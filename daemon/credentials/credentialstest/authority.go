// Package credentialstest signs certificates for tests of servers and clients with TLS.
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

// Authority is the CA of one test.
type Authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// New returns a new authority.
func New(t *testing.T) Authority {
	t.Helper()
	a := Authority{t: t}
	a.cert, a.key = a.sign("authority", nil)
	return a
}

// Pool returns a pool with the authority's certificate.
func (a Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// Server writes the files of a server with a new certificate. A second call renews the certificate.
func (a Authority) Server(dir, name string) credentials.Files {
	a.t.Helper()
	return a.write(dir, name, x509.ExtKeyUsageServerAuth)
}

// Client writes the files of a client with a new certificate. The file ClientCA is the CA of its servers.
func (a Authority) Client(dir, name string) credentials.Files {
	a.t.Helper()
	return a.write(dir, name, x509.ExtKeyUsageClientAuth)
}

// Certificate returns a new certificate for a usage, without files.
func (a Authority) Certificate(name string, usage x509.ExtKeyUsage) *tls.Certificate {
	a.t.Helper()
	cert, key := a.sign(name, []x509.ExtKeyUsage{usage})
	return &tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}
}

// sign returns a new certificate. The first one is the authority's own.
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
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           usage,
		BasicConstraintsValid: true,
		IsCA:                  a.cert == nil,
	}
	parent := a.cert
	signer := a.key
	if parent == nil {
		parent = template
		signer = key
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
	keyBytes, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(a.t, err)
	files := credentials.Files{
		Cert:     filepath.Join(dir, "tls.crt"),
		Key:      filepath.Join(dir, "tls.key"),
		ClientCA: filepath.Join(dir, "ca.crt"),
	}
	for name, block := range map[string]*pem.Block{
		files.Cert:     {Type: "CERTIFICATE", Bytes: cert.Raw},
		files.Key:      {Type: "PRIVATE KEY", Bytes: keyBytes},
		files.ClientCA: {Type: "CERTIFICATE", Bytes: a.cert.Raw},
	} {
		require.NoError(a.t, os.WriteFile(name, pem.EncodeToMemory(block), 0o600))
	}
	return files
}
