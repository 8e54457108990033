package registry

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

var errPlainHTTP = errors.New("plain HTTP is not accepted")

// secureTransport refuses plain HTTP, redirects included, except to loopback addresses. The registry client falls back to
// it by itself for private addresses.
type secureTransport struct {
	next      http.RoundTripper
	plainHTTP bool
}

func (s secureTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Scheme != "https" && !s.plainHTTP && !isLoopback(request.URL.Hostname()) {
		return nil, fmt.Errorf("%s: %w", request.URL.Host, errPlainHTTP)
	}
	return s.next.RoundTrip(request)
}

func isLoopback(host string) bool {
	address := net.ParseIP(host)
	return host == "localhost" || address != nil && address.IsLoopback()
}

// explain adds what the user can do about an error of the registry.
func (t Target) explain(err error) error {
	advice := ""
	switch {
	case hasStatus(err, http.StatusUnauthorized), hasStatus(err, http.StatusForbidden):
		advice = fmt.Sprintf("access denied: log in with `docker login %s`, or write the credentials to ~/.docker/config.json", t.Host())
	case hasStatus(err, http.StatusNotFound):
		advice = "the registry does not know this repository: create it, or check the prefix"
	case isPlainHTTP(err):
		advice = "the registry does not serve TLS: add --plain-http (PLAIN_HTTP=1) if you trust the network between"
	case strings.Contains(err.Error(), "x509:"):
		advice = "the registry's certificate is not trusted: set SSL_CERT_FILE to the file with its authority"
	}
	if advice == "" {
		return fmt.Errorf("registry %s: %w", t.Host(), err)
	}
	return fmt.Errorf("registry %s: %w (%s)", t.Host(), err, advice)
}

func isPlainHTTP(err error) bool {
	const mismatch = "server gave HTTP response to HTTPS client"
	// The client joins the errors of its attempts as text.
	return strings.Contains(err.Error(), mismatch) || strings.Contains(err.Error(), errPlainHTTP.Error())
}

func hasStatus(err error, status int) bool {
	var failure *transport.Error
	return errors.As(err, &failure) && failure.StatusCode == status
}
