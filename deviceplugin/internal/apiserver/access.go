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

// serviceAccount is where kubelet puts a pod's credentials.
const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"

// tokenTTL is how long a token that was read is used before its file is read again. Kubelet renews it long before it ends.
const tokenTTL = time.Minute

// access is how to reach the server and what to show it.
type access struct {
	server string
	// ca is in PEM; empty trusts what the system trusts.
	ca           []byte
	certificates []tls.Certificate
	// token, or the file it is in.
	token, tokenFile string
}

// Open finds the API server: the one of the pod it runs in, or that of a kubeconfig file. It does not connect yet.
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

// inClusterAccess is the access of a pod's service account.
func inClusterAccess() (access, error) {
	host := os.Getenv("KUBERNETES_SERVICE_HOST")
	port := os.Getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return access{}, errors.New("this is no pod (KUBERNETES_SERVICE_HOST is not set): give --kubeconfig")
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
			return nil, errors.New("the server's CA is no certificate in PEM")
		}
	}
	if a.token == "" && a.tokenFile == "" {
		return t, nil
	}
	return &tokenTransport{next: t, token: a.token, file: a.tokenFile}, nil
}

// tokenTransport shows a token with each request.
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

// currentToken returns the token. One that can not be read again is used as long as the server takes it.
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
