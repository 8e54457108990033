package apiserver

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// serviceAccount is the directory of a pod's credentials.
const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"

// tokenTTL is how long a token is used before its file is read again. Kubelet renews it long before it expires.
const tokenTTL = time.Minute

// access is the address of an API server with credentials.
type access struct {
	server string
	// ca is in PEM. If it is empty, the system's certificates are trusted.
	ca           []byte
	certificates []tls.Certificate
	// the token, or the file that contains it
	token, tokenFile string
}

// Open returns a client of the pod's own cluster, or of a kubeconfig file's. It does not connect.
func Open(kubeconfig string) (*Client, error) {
	find := inClusterAccess
	if kubeconfig != "" {
		find = func() (access, error) { return kubeconfigAccess(kubeconfig) }
	}
	a, err := find()
	if err != nil {
		return nil, fmt.Errorf("finding the API server: %w", err)
	}
	transport, err := a.transport()
	if err != nil {
		return nil, fmt.Errorf("finding the API server: %w", err)
	}
	return New(&http.Client{Transport: transport}, a.server), nil
}

// inClusterAccess returns the access of the pod's service account.
func inClusterAccess() (access, error) {
	host := os.Getenv("KUBERNETES_SERVICE_HOST")
	port := os.Getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return access{}, errors.New("not running in a pod (KUBERNETES_SERVICE_HOST is not set): give --kubeconfig")
	}
	ca, err := os.ReadFile(filepath.Join(serviceAccount, "ca.crt"))
	if err != nil {
		return access{}, fmt.Errorf("the pod has no service account: %w", err)
	}
	return access{
		server:    "https://" + net.JoinHostPort(host, port),
		ca:        ca,
		tokenFile: filepath.Join(serviceAccount, "token"),
	}, nil
}

func (a access) transport() (http.RoundTripper, error) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: a.certificates}
	if len(a.ca) > 0 {
		t.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !t.TLSClientConfig.RootCAs.AppendCertsFromPEM(a.ca) {
			return nil, errors.New("the server's CA is not a PEM certificate")
		}
	}
	if a.token == "" && a.tokenFile == "" {
		return t, nil
	}
	return &tokenTransport{next: t, token: a.token, file: a.tokenFile}, nil
}

// tokenTransport adds a bearer token to each request.
type tokenTransport struct {
	next http.RoundTripper
	file string

	mu     sync.Mutex
	token  string
	readAt time.Time
}

// RoundTrip implements http.RoundTripper.
func (b *tokenTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	token, err := b.currentToken()
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	return b.next.RoundTrip(r)
}

// currentToken returns the token. If the file cannot be read again, the last token stays in use.
func (b *tokenTransport) currentToken() (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.file != "" && time.Since(b.readAt) > tokenTTL {
		content, err := os.ReadFile(b.file)
		if err != nil && b.token == "" {
			return "", fmt.Errorf("reading the service account's token: %w", err)
		}
		if err == nil {
			b.token = strings.TrimSpace(string(content))
			b.readAt = time.Now()
		}
	}
	return b.token, nil
}
