package apiserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"
)

const (
	// maxPage bounds one page of a list, pageSize the objects in it.
	maxPage  = 64 << 20
	pageSize = "250"
	// watchTimeout is how long a watch lasts before it is made anew: a connection that died silently is noticed by then.
	watchTimeout = 4 * time.Minute
	// minBackoff and longestRest bound the pause after a failure.
	minBackoff = 100 * time.Millisecond
	maxBackoff = 10 * time.Second
)

// Change is news of a collection.
type Change[T any] struct {
	// Items, where Listed, is everything there is: what is not among it is gone.
	Items  []T
	IsList bool
	// Object is what was added or changed, or else Gone.
	Object  T
	Deleted bool
}

// ListAndWatch lists a collection and watches it from there on, until ctx ends. T names the fields that are wanted. After
// an interruption the watch goes on where it stopped; where the server no longer knows that far back, the collection is
// listed again. failed hears of each interruption.
func ListAndWatch[T any](ctx context.Context, c *Client, path string, selector url.Values, apply func(Change[T]), failed func(error)) {
	f := reflector[T]{
		client:   c,
		path:     path,
		selector: selector,
		apply:    apply,
	}
	backoff := minBackoff
	for ctx.Err() == nil {
		start := time.Now()
		err := f.listAndWatch(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil: // the server ended a watch in its own time
			backoff = minBackoff
			continue
		case errors.Is(err, errExpired):
			f.version = ""
		}
		failed(err)
		if time.Since(start) > maxBackoff {
			backoff = minBackoff
		}
		select {
		case <-time.After(backoff/2 + rand.N(backoff)):
		case <-ctx.Done():
		}
		backoff = min(2*backoff, maxBackoff)
	}
}

// errExpired says that a watch can not go on from where it stopped.
var errExpired = errors.New("the API server no longer knows the version that was seen last")

type reflector[T any] struct {
	client   *Client
	path     string
	selector url.Values
	apply    func(Change[T])
	version  string // seen last, "" before the first list
}

// listAndWatch lists if there is need to, and watches until the watch ends.
func (f *reflector[T]) listAndWatch(ctx context.Context) error {
	if f.version == "" {
		if err := f.list(ctx); err != nil {
			return err
		}
	}
	return f.watch(ctx)
}

func (f *reflector[T]) query(more url.Values) url.Values {
	query := url.Values{}
	for _, values := range []url.Values{f.selector, more} {
		for name, value := range values {
			query[name] = value
		}
	}
	return query
}

func (f *reflector[T]) list(ctx context.Context) error {
	var all []T
	var page struct {
		Metadata struct{ ResourceVersion, Continue string }
		Items    []T
	}
	for {
		query := url.Values{"limit": {pageSize}}
		if page.Metadata.Continue != "" {
			query.Set("continue", page.Metadata.Continue)
		}
		reply, err := f.client.do(ctx, http.MethodGet, f.path, f.query(query), "", nil)
		if err != nil {
			return fmt.Errorf("listing: %w", err)
		}
		page.Items = nil
		page.Metadata.Continue = ""
		err = json.NewDecoder(io.LimitReader(reply.Body, maxPage)).Decode(&page)
		_ = reply.Body.Close()
		if err != nil {
			return fmt.Errorf("listing %s: %w", f.path, err)
		}
		all = append(all, page.Items...)
		if page.Metadata.Continue == "" {
			break
		}
	}
	f.version = page.Metadata.ResourceVersion
	f.apply(Change[T]{Items: all, IsList: true})
	return nil
}

// watchEvent is one event of a watch.
type watchEvent struct {
	Type   string
	Object json.RawMessage
}

func (f *reflector[T]) watch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout+maxBackoff)
	defer cancel()
	reply, err := f.client.do(ctx, http.MethodGet, f.path, f.query(url.Values{
		"watch": {"1"}, "resourceVersion": {f.version}, "allowWatchBookmarks": {"true"},
		"timeoutSeconds": {fmt.Sprint(int(watchTimeout.Seconds()))},
	}), "", nil)
	if err != nil {
		var refusal *StatusError
		if errors.As(err, &refusal) && refusal.Code == http.StatusGone {
			return errExpired
		}
		return fmt.Errorf("watching: %w", err)
	}
	defer func() { _ = reply.Body.Close() }()
	events := json.NewDecoder(reply.Body)
	for {
		var n watchEvent
		switch err := events.Decode(&n); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("watching %s: %w", f.path, err)
		}
		if err := f.handle(n); err != nil {
			return err
		}
	}
}

func (f *reflector[T]) handle(n watchEvent) error {
	if n.Type == "ERROR" {
		var status struct {
			Code    int
			Message string
		}
		_ = json.Unmarshal(n.Object, &status)
		if status.Code == http.StatusGone {
			return errExpired
		}
		return fmt.Errorf("watching %s: %w", f.path, &StatusError{Code: status.Code, Message: status.Message})
	}
	var version struct {
		Metadata struct{ ResourceVersion string }
	}
	var one T
	if err := errors.Join(json.Unmarshal(n.Object, &version), json.Unmarshal(n.Object, &one)); err != nil {
		return fmt.Errorf("watching %s: %w", f.path, err)
	}
	switch n.Type {
	case "ADDED", "MODIFIED":
		f.apply(Change[T]{Object: one})
	case "DELETED":
		f.apply(Change[T]{Object: one, Deleted: true})
	}
	f.version = version.Metadata.ResourceVersion // a bookmark brings nothing else
	return nil
}
