package registry

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

type reached struct{}

func (reached) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

func TestSecureTransport_AllowsPlainHTTPToLoopbackOnly(t *testing.T) {
	for url, allowed := range map[string]bool{
		"https://example.com/v2/":  true,
		"http://127.0.0.1:5000/":   true,
		"http://[::1]:5000/":       true,
		"http://localhost:5000/":   true,
		"http://example.com/v2/":   false,
		"http://10.0.0.1:5000/v2/": false,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		require.NoError(t, err)
		_, err = secureTransport{next: reached{}}.RoundTrip(request)
		require.Equal(t, allowed, err == nil, url)
		_, err = secureTransport{next: reached{}, plainHTTP: true}.RoundTrip(request)
		require.NoError(t, err, url)
	}
}

func TestExplain_NamesTheFlagForPlainHTTP(t *testing.T) {
	target := Target{Address: "10.0.0.1:5000/x", Tag: "v1"}
	require.ErrorContains(t, target.explain(errPlainHTTP), "--plain-http")
}
