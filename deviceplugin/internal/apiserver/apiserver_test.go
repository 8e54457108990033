package apiserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/apiserver"
)

// object is the part of an object that the tests use.
type object struct{ Metadata struct{ Name string } }

// scriptedServer answers requests one after another, one step each.
type scriptedServer struct {
	t     *testing.T
	steps []step
	done  chan struct{}
}

type step struct {
	query  map[string]string // required query parameters
	status int
	body   string
	cut    bool // break the connection after the body
}

// RoundTrip implements http.RoundTripper. After the last step it keeps a watch open.
func (s *scriptedServer) RoundTrip(r *http.Request) (*http.Response, error) {
	if len(s.steps) == 0 {
		close(s.done)
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	now := s.steps[0]
	s.steps = s.steps[1:]
	for name, value := range now.query {
		require.Equal(s.t, value, r.URL.Query().Get(name), "%s of %s", name, r.URL)
	}
	require.Equal(s.t, "spec.nodeName=n1", r.URL.Query().Get("fieldSelector"))
	var body io.Reader = strings.NewReader(now.body)
	if now.cut {
		body = io.MultiReader(body, broken{})
	}
	return &http.Response{StatusCode: max(now.status, 200), Body: io.NopCloser(body), Header: http.Header{}}, nil
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func event(kind, name, version string) string {
	return fmt.Sprintf(`{"type":%q,"object":{"metadata":{"name":%q,"resourceVersion":%q}}}`+"\n", kind, name, version)
}

const first = `{"metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"a"}}]}`

// follow runs ListAndWatch and returns the changes in short form, and the number of failures.
func follow(ctx context.Context, client *apiserver.Client) (changes []string, failed int) {
	apply := func(c apiserver.Change[object]) {
		switch {
		case c.IsList:
			var names []string
			for _, o := range c.Items {
				names = append(names, o.Metadata.Name)
			}
			changes = append(changes, "="+strings.Join(names, ","))
		case c.Deleted:
			changes = append(changes, "-"+c.Object.Metadata.Name)
		default:
			changes = append(changes, "+"+c.Object.Metadata.Name)
		}
	}
	selector := url.Values{"fieldSelector": {"spec.nodeName=n1"}}
	apiserver.ListAndWatch(ctx, client, "/api/v1/pods", selector, apply, func(error) { failed++ })
	return changes, failed
}

func TestListAndWatch(t *testing.T) {
	for name, tc := range map[string]struct {
		steps  []step
		want   string
		failed int
	}{
		"a list and then changes": {
			steps: []step{{body: first}, {query: map[string]string{"watch": "1", "resourceVersion": "5"},
				body: event("ADDED", "b", "6") + event("MODIFIED", "b", "7") + event("DELETED", "a", "8")}},
			want: "=a +b +b -a",
		},
		"a list of several pages is one list": {
			steps: []step{
				{body: `{"metadata":{"resourceVersion":"5","continue":"more"},"items":[{"metadata":{"name":"a"}}]}`},
				{
					query: map[string]string{"continue": "more"},
					body:  `{"metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"b"}}]}`,
				},
			},
			want: "=a,b",
		},
		"a watch that ended resumes from the last bookmark": {
			steps: []step{{body: first}, {body: event("BOOKMARK", "", "90")},
				{query: map[string]string{"watch": "1", "resourceVersion": "90"}}},
			want: "=a",
		},
		"a broken connection loses no event": {
			steps: []step{{body: first}, {body: event("ADDED", "b", "6"), cut: true},
				{query: map[string]string{"watch": "1", "resourceVersion": "6"}, body: event("ADDED", "c", "7")}},
			want: "=a +b +c", failed: 1,
		},
		"an expired version leads to a new list": {
			steps: []step{{body: first}, {body: `{"type":"ERROR","object":{"code":410,"message":"too old"}}`},
				{query: map[string]string{"watch": "", "resourceVersion": ""}, body: first}},
			want: "=a =a", failed: 1,
		},
		"an expired version rejected at once leads to a new list": {
			steps: []step{{body: first}, {status: 410}, {query: map[string]string{"watch": ""}, body: first}},
			want:  "=a =a", failed: 1,
		},
		"server errors are retried": {
			steps: []step{{status: 503, body: "sorry"}, {status: 429}, {body: first}},
			want:  "=a", failed: 2,
		},
		"invalid answers are ignored and retried": {
			steps: []step{{body: "<html>"}, {body: first}, {body: `{"type":"ADDED","object":7}`},
				{query: map[string]string{"watch": "1", "resourceVersion": "5"}}},
			want: "=a", failed: 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scriptedServer{t: t, steps: tc.steps, done: make(chan struct{})}
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					<-s.done
					cancel()
				}()
				got, failed := follow(ctx, apiserver.New(&http.Client{Transport: s}, "http://server"))
				require.Equal(t, tc.want, strings.Join(got, " "))
				require.Equal(t, tc.failed, failed)
			})
		})
	}
}

func TestListAndWatch_BacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		requests := 0
		unavailable := transport(func(*http.Request) (*http.Response, error) {
			requests++
			return nil, io.ErrUnexpectedEOF
		})
		apiserver.ListAndWatch(ctx, apiserver.New(&http.Client{Transport: unavailable}, "http://server"), "/x", nil,
			func(apiserver.Change[object]) {}, func(error) {})
		require.Greater(t, requests, 40, "at least every 15 s")
		require.Less(t, requests, 200)
	})
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestClient_Requests(t *testing.T) {
	var method, path, contentType string
	var body map[string]any
	reject := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		method = r.Method
		path = r.URL.String()
		contentType = r.Header.Get("Content-Type")
		body = nil
		require.NoError(t, json.NewDecoder(r.Body).Decode(&body))
		if reject {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"kind":"Status","message":"nodes \"n1\" is forbidden"}`)
		}
	}))
	defer server.Close()
	c := apiserver.New(server.Client(), server.URL+"/")

	require.NoError(t, c.Apply(t.Context(), "/api/v1/nodes/n1", "us", map[string]any{"kind": "Node"}))
	require.Equal(t, "PATCH /api/v1/nodes/n1?fieldManager=us&force=true application/apply-patch+yaml",
		method+" "+path+" "+contentType)
	require.Equal(t, map[string]any{"kind": "Node"}, body)

	require.NoError(t, c.Warning(t.Context(), apiserver.Node("n1"), "GPUUnhealthy", "why"))
	require.Equal(t, "POST /api/v1/namespaces/default/events?", method+" "+path)
	require.Equal(t, map[string]any{"kind": "Node", "name": "n1", "uid": "n1"}, body["involvedObject"])
	require.Equal(t, "Warning", body["type"])

	require.NoError(t, c.Normal(t.Context(), apiserver.ObjectRef{
		Kind:      "Pod",
		Namespace: "ns",
		Name:      "p",
		UID:       "u",
	}, "GPUHealthy", "again"))
	require.Contains(t, path, "/namespaces/ns/")

	reject = true
	err := c.Create(t.Context(), "/x", map[string]any{})
	require.ErrorContains(t, err, `403: nodes "n1" is forbidden`)
	var statusErr *apiserver.StatusError
	require.ErrorAs(t, err, &statusErr)
}
