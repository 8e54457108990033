package apiserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

const (
	// maxErrorBody bounds the part of an error's body that is read.
	maxErrorBody = 4 << 10
	userAgent    = "trellis-deviceplugin"
)

// Client sends requests to one API server.
type Client struct {
	http *http.Client
	base string
}

// New returns a client of the server at base that uses c.
func New(c *http.Client, base string) *Client {
	return &Client{http: c, base: strings.TrimSuffix(base, "/")}
}

// StatusError is a response with a status code other than 2xx.
type StatusError struct {
	Code    int
	Message string
}

// Error implements error.
func (r *StatusError) Error() string {
	return fmt.Sprintf("the API server answered %d: %s", r.Code, r.Message)
}

// Create posts an object to a collection, such as /api/v1/namespaces/default/events.
func (c *Client) Create(ctx context.Context, path string, object any) error {
	return c.send(ctx, http.MethodPost, path, nil, "application/json", object)
}

// Apply applies an object server-side as owner and takes over fields of other owners. Fields that this owner set
// earlier and now omits are removed.
func (c *Client) Apply(ctx context.Context, path, owner string, object any) error {
	query := url.Values{"fieldManager": {owner}, "force": {"true"}}
	return c.send(ctx, http.MethodPatch, path, query, "application/apply-patch+yaml", object) // JSON is valid YAML
}

func (c *Client) send(
	ctx context.Context, method, path string, query url.Values, contentType string, object any,
) error {
	body, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("encoding the object for %s: %w", path, err)
	}
	reply, err := c.do(ctx, method, path, query, contentType, bytes.NewReader(body))
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(reply.Body, maxPage)) // so that the connection is reused
	return reply.Body.Close()
}

// do sends a request. Any status code other than 2xx is a StatusError.
func (c *Client) do(
	ctx context.Context, method, path string, query url.Values, contentType string, body io.Reader,
) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path+"?"+query.Encode(), body)
	if err != nil {
		return nil, fmt.Errorf("building the request for %s: %w", path, err)
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", userAgent)
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	reply, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("sending a request to the API server: %w", err)
	}
	if reply.StatusCode/100 != 2 {
		defer func() { _ = reply.Body.Close() }()
		body, _ := io.ReadAll(io.LimitReader(reply.Body, maxErrorBody))
		return nil, &StatusError{Code: reply.StatusCode, Message: statusMessage(body)}
	}
	return reply, nil
}

// statusMessage returns the message of a Status object, or the body if it is something else.
func statusMessage(body []byte) string {
	var status struct{ Message string }
	if json.Unmarshal(body, &status) == nil && status.Message != "" {
		return status.Message
	}
	return strings.TrimSpace(string(body))
}
