package explain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/trellis-gpu/trellis/growth/node"
)

// Path is the URL path of the explanation, with the query "pod=<namespace>/<name>".
const Path = "/explain"

// ErrNoJob means that no job of this node has the name.
var ErrNoJob = errors.New("no running job of this node has that name: is it on another node, and does it ask for a share?")

// Source returns the explanation of a pod, given as namespace/name.
type Source func(ctx context.Context, pod string) (node.Explanation, error)

// Handler serves explanations to callers on the same node only, since they reveal details of users' jobs.
func Handler(source Source) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.RemoteAddr)
		if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
			http.Error(w, "only for callers on this node", http.StatusForbidden)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), 10*time.Second)
		defer cancel()
		e, err := source(ctx, r.URL.Query().Get("pod"))
		switch {
		case errors.Is(err, ErrNoJob):
			http.Error(w, err.Error(), http.StatusNotFound)
		case err != nil:
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		default:
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(e)
		}
	})
}

// maxResponse bounds a response, in bytes.
const maxResponse = 1 << 20

// Ask queries the coordinator of this node, whose health listener is at listen, such as ":9442".
func Ask(ctx context.Context, listen, pod string) (node.Explanation, error) {
	var e node.Explanation
	_, port, err := net.SplitHostPort(listen)
	if err != nil {
		return e, fmt.Errorf("--health-listen %q: host:port, as the running coordinator has it", listen)
	}
	at := url.URL{
		Scheme:   "http",
		Host:     net.JoinHostPort("127.0.0.1", port),
		Path:     Path,
		RawQuery: url.Values{"pod": {pod}}.Encode(),
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return e, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return e, fmt.Errorf("asking this node's coordinator: %w: is it running here, and is its --health-listen %s?", err, listen)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxResponse))
	if err != nil {
		return e, fmt.Errorf("asking this node's coordinator: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return e, fmt.Errorf("pod %s: %.200s", pod, body)
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return e, fmt.Errorf("the coordinator's answer: %w", err)
	}
	return e, nil
}
