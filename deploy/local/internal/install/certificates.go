package install

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/trellis-gpu/trellis/deploy/local/internal/image"
	"github.com/trellis-gpu/trellis/deploy/local/internal/pki"
)

const (
	// busServer is the name of the bus's Service, and the server name in its certificate.
	busServer = "trellis-etcd"
	// authoritySecret holds the authority's certificate. The name of every other secret is the prefix and its owner.
	authoritySecret = "trellis-bus-ca"
	secretPrefix    = "trellis-bus-"
	// margin is the remaining validity below which a certificate is due for renewal.
	margin = 30 * 24 * time.Hour
)

// Secret is a Kubernetes Secret.
type Secret struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   Metadata          `json:"metadata"`
	Type       string            `json:"type"`
	Data       map[string][]byte `json:"data"`
}

// Metadata names a Secret.
type Metadata struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
}

// Secrets are the certificates of one bus.
type Secrets []Secret

// owners are the programs that have a certificate.
func owners() []string { return append(image.Binaries(), "etcd") }

// NewSecrets creates an authority and a certificate of it for each owner. The authority's key is discarded.
func NewSecrets(now time.Time) (Secrets, error) {
	folder, err := os.MkdirTemp("", "trellis-bus-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	authority, err := pki.NewAuthority(folder, "ca", now)
	if err != nil {
		return nil, fmt.Errorf("create the bus's authority: %w", err)
	}
	for _, owner := range owners() {
		subject := pki.Subject{User: owner}
		if owner == "etcd" {
			subject.Names = []string{busServer, busServer + "." + Namespace, busServer + "." + Namespace + ".svc"}
		}
		if err := authority.Issue(owner, subject); err != nil {
			return nil, err
		}
	}
	return readSecrets(folder)
}

func readSecrets(folder string) (Secrets, error) {
	ca, err := os.ReadFile(filepath.Join(folder, "ca.crt"))
	if err != nil {
		return nil, err
	}
	secrets := Secrets{newSecret(authoritySecret, "Opaque", map[string][]byte{"ca.crt": ca})}
	for _, owner := range owners() {
		cert, err := os.ReadFile(filepath.Join(folder, owner+".crt"))
		if err != nil {
			return nil, err
		}
		key, err := os.ReadFile(filepath.Join(folder, owner+".key"))
		if err != nil {
			return nil, err
		}
		secrets = append(secrets, newSecret(secretPrefix+owner, "kubernetes.io/tls", map[string][]byte{"tls.crt": cert, "tls.key": key}))
	}
	return secrets, nil
}

func newSecret(name, kind string, data map[string][]byte) Secret {
	return Secret{APIVersion: "v1", Kind: "Secret", Metadata: Metadata{Name: name, Namespace: Namespace}, Type: kind, Data: data}
}

// Manifest is the input of kubectl apply.
func (s Secrets) Manifest() ([]byte, error) {
	return json.MarshalIndent(map[string]any{"apiVersion": "v1", "kind": "List", "items": s}, "", "  ")
}

// Authority is a digest of the authority's certificate.
func (s Secrets) Authority() string {
	sum := sha256.Sum256(s.data(authoritySecret)["ca.crt"])
	return hex.EncodeToString(sum[:8])
}

func (s Secrets) data(name string) map[string][]byte {
	for _, secret := range s {
		if secret.Metadata.Name == name {
			return secret.Data
		}
	}
	return nil
}

// Check returns why the certificates cannot be used, or not for another month.
func (s Secrets) Check(now time.Time) error { return s.verify(now.Add(margin)) }

// verify returns why the certificates cannot be used at a time.
func (s Secrets) verify(at time.Time) error {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(s.data(authoritySecret)["ca.crt"]) {
		return fmt.Errorf("secret %s holds no authority", authoritySecret)
	}
	for _, owner := range owners() {
		data := s.data(secretPrefix + owner)
		pair, err := tls.X509KeyPair(data["tls.crt"], data["tls.key"])
		if err != nil {
			return fmt.Errorf("secret %s%s: %w", secretPrefix, owner, err)
		}
		verify := x509.VerifyOptions{Roots: roots, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
		if owner == "etcd" {
			verify.DNSName, verify.KeyUsages = busServer, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		}
		if _, err := pair.Leaf.Verify(verify); err != nil {
			return fmt.Errorf("secret %s%s: %w", secretPrefix, owner, err)
		}
	}
	return nil
}
