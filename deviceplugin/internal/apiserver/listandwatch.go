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
	// maxPage bounds the size of one page of a list, pageSize its number of objects.
	maxPage  = 64 << 20
	pageSize = "250"
	// watchTimeout is the duration of one watch. It bounds the time until a dead connection is noticed.
	watchTimeout = 4 * time.Minute
	// minBackoff and maxBackoff bound the delay after a failure.
	minBackoff = 100 * time.Millisecond
	maxBackoff = 10 * time.Second
)

// Change is a list of a collection, or one change of it.
type Change[T any] struct {
	// If IsList is true, Items is the whole collection, and all other objects are deleted.
	Items  []T
	IsList bool
	// Otherwise Object was added or modified, or deleted if Deleted is true.
	Object  T
	Deleted bool
}

// ListAndWatch lists a collection and watches it until ctx ends. T has the fields to decode. After an interruption
// the watch resumes from its last version; if that has expired, the collection is listed again. failed receives each
// error.
func ListAndWatch[T any](
	ctx context.Context, c *Client, path string, selector url.Values, apply func(Change[T]), failed func(error),
) {
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
		case err == nil: // the server ended the watch after its timeout
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

// errExpired reports that a watch cannot resume from its last version.
var errExpired = errors.New("the API server no longer knows the version that was seen last")

type reflector[T any] struct {
	client   *Client
	path     string
	selector url.Values
	apply    func(Change[T])
	version  string // of the last event; empty before the first list
}

// listAndWatch lists the collection if necessary and watches until the watch ends.
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
		var statusErr *StatusError
		if errors.As(err, &statusErr) && statusErr.Code == http.StatusGone {
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
	f.version = version.Metadata.ResourceVersion // bookmarks have only a version
	return nil
}
