package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"time"
)

// validity is longer than the life of a local cluster. skew tolerates clocks that are slightly behind.
const (
	validity = 365 * 24 * time.Hour
	skew     = 5 * time.Minute
)

// Authority signs certificates and writes them as NAME.crt and NAME.key below its folder.
type Authority struct {
	folder string
	cert   *x509.Certificate
	key    crypto.Signer
	now    time.Time
}

// Subject is the identity in a certificate.
type Subject struct {
	User   string
	Groups []string
	Names  []string     // a server's host names
	Addrs  []netip.Addr // a server's addresses
}

// NewAuthority creates an authority and writes its own certificate as NAME.crt and its key as NAME.key.
func NewAuthority(folder, name string, now time.Time) (*Authority, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template, err := newTemplate(Subject{User: "trellis local " + name}, now)
	if err != nil {
		return nil, err
	}
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage |= x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	a := &Authority{folder: folder, cert: cert, key: key, now: now}
	return a, a.write(name, der, key)
}

// Issue creates a key and a certificate for the subject, for clients and servers. A subject without names or addresses cannot
// be a server.
func (a *Authority) Issue(name string, s Subject) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template, err := newTemplate(s, a.now)
	if err != nil {
		return err
	}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if len(s.Names)+len(s.Addrs) > 0 {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return fmt.Errorf("sign certificate %s: %w", name, err)
	}
	return a.write(name, der, key)
}

func newTemplate(s Subject, now time.Time) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	t := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: s.User, Organization: s.Groups},
		NotBefore:    now.Add(-skew),
		NotAfter:     now.Add(validity),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		DNSNames:     s.Names,
	}
	for _, addr := range s.Addrs {
		t.IPAddresses = append(t.IPAddresses, net.IP(addr.AsSlice()))
	}
	return t, nil
}

func (a *Authority) write(name string, der []byte, key *ecdsa.PrivateKey) error {
	if err := writePEM(filepath.Join(a.folder, name+".crt"), "CERTIFICATE", der, 0o644); err != nil {
		return err
	}
	return writeKey(filepath.Join(a.folder, name+".key"), key)
}

// WriteKey creates the key pair that signs service account tokens.
func WriteKey(path string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	return writeKey(path, key)
}

func writeKey(path string, key *ecdsa.PrivateKey) error {
	// SEC 1 and not PKCS #8: the API server derives public keys of service accounts from this form only.
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(path, "EC PRIVATE KEY", der, 0o600)
}

func writePEM(path, kind string, der []byte, mode os.FileMode) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), mode)
}
