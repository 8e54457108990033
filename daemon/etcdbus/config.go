package etcdbus

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"
)

// Config configures a Bus: the endpoints of etcd, and the files for TLS.
type Config struct {
	// Endpoints are URLs such as https://10.0.0.1:2379. An IPv6 address needs no brackets if a port follows.
	Endpoints []string
	// CAFile, CertFile and KeyFile are PEM files: the CA of etcd's certificate, and the client certificate with its key.
	// Either all are set, or none for plain HTTP. Each new connection reads the client certificate again, so a renewed
	// one needs no restart.
	CAFile, CertFile, KeyFile string
	// ServerName is the name that etcd's certificate must have. Empty means the host of the endpoint.
	ServerName string
	// SessionTTL is how long ephemeral entries outlive a process that crashes. From 1 s to 1 h; 0 means 15 s.
	SessionTTL time.Duration
	// Log receives warnings about lost sessions and interrupted watches. Nil discards them.
	Log *slog.Logger
}

// Validate returns an error that names the first invalid value.
func (c Config) Validate() error {
	if len(c.Endpoints) == 0 {
		return errors.New("no etcd endpoint: give at least one URL, such as https://etcd:2379")
	}
	secure := c.CAFile != "" || c.CertFile != "" || c.KeyFile != ""
	if secure && (c.CAFile == "" || c.CertFile == "" || c.KeyFile == "") {
		return errors.New("etcd's TLS needs a CA, a certificate and its key: give all three or none")
	}
	for _, endpoint := range c.Endpoints {
		if strings.Contains(endpoint, "$(") {
			return fmt.Errorf("etcd endpoint %q: Kubernetes left the variable in it unset; "+
				"the bus's Service must exist before this pod starts", endpoint)
		}
		if secure != strings.HasPrefix(endpoint, "https://") {
			return fmt.Errorf("etcd endpoint %q: https:// goes with certificates, http:// without", endpoint)
		}
	}
	if c.SessionTTL < 0 || c.SessionTTL > time.Hour {
		return fmt.Errorf("etcd session TTL %s: from 1s to 1h", c.SessionTTL)
	}
	return nil
}

// endpoints returns the endpoints as valid URLs. Kubernetes sets the variable of a Service's address without brackets, and
// manifests cannot add them for IPv6 alone.
func (c Config) endpoints() []string {
	urls := make([]string, len(c.Endpoints))
	for i, endpoint := range c.Endpoints {
		urls[i] = endpoint
		scheme, address, _ := strings.Cut(endpoint, "://")
		colon := strings.LastIndex(address, ":")
		if colon < 0 {
			continue
		}
		host, port := address[:colon], address[colon+1:]
		if ip, err := netip.ParseAddr(host); err == nil && ip.Is6() {
			urls[i] = scheme + "://" + net.JoinHostPort(host, port)
		}
	}
	return urls
}

// tls returns the TLS configuration of the client, nil for plain HTTP.
func (c Config) tls() (*tls.Config, error) {
	if c.CAFile == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(c.CAFile)
	if err != nil {
		return nil, fmt.Errorf("reading etcd's CA: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("etcd's CA %s holds no certificate", c.CAFile)
	}
	return &tls.Config{
		RootCAs:    roots,
		ServerName: c.ServerName,
		MinVersion: tls.VersionTLS12,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
			return &pair, err
		},
	}, nil
}
