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
	// watchFor is how long a watch lasts before it is made anew: a connection that died silently is noticed by then.
	watchFor = 4 * time.Minute
	// firstRest and longestRest bound the pause after a failure.
	firstRest   = 100 * time.Millisecond
	longestRest = 10 * time.Second
)

// Change is news of a collection.
type Change[T any] struct {
	// All, where Listed, is everything there is: what is not among it is gone.
	All    []T
	Listed bool
	// One is what was added or changed, or else Gone.
	One  T
	Gone bool
}

// Follow lists a collection and watches it from there on, until ctx ends. T names the fields that are wanted. After
// an interruption the watch goes on where it stopped; where the server no longer knows that far back, the collection is
// listed again. failed hears of each interruption.
func Follow[T any](ctx context.Context, c *Client, path string, selector url.Values, apply func(Change[T]), failed func(error)) {
	f := follower[T]{
		client:   c,
		path:     path,
		selector: selector,
		apply:    apply,
	}
	pause := firstRest
	for ctx.Err() == nil {
		began := time.Now()
		err := f.once(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil: // the server ended a watch in its own time
			pause = firstRest
			continue
		case errors.Is(err, errForgotten):
			f.version = ""
		}
		failed(err)
		if time.Since(began) > longestRest {
			pause = firstRest
		}
		select {
		case <-time.After(pause/2 + rand.N(pause)):
		case <-ctx.Done():
		}
		pause = min(2*pause, longestRest)
	}
}

// errForgotten says that a watch can not go on from where it stopped.
var errForgotten = errors.New("the API server no longer knows the version that was seen last")

type follower[T any] struct {
	client   *Client
	path     string
	selector url.Values
	apply    func(Change[T])
	version  string // seen last, "" before the first list
}

// once lists if there is need to, and watches until the watch ends.
func (f *follower[T]) once(ctx context.Context) error {
	if f.version == "" {
		if err := f.list(ctx); err != nil {
			return err
		}
	}
	return f.watch(ctx)
}

func (f *follower[T]) query(more url.Values) url.Values {
	query := url.Values{}
	for _, values := range []url.Values{f.selector, more} {
		for name, value := range values {
			query[name] = value
		}
	}
	return query
}

func (f *follower[T]) list(ctx context.Context) error {
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
	f.apply(Change[T]{All: all, Listed: true})
	return nil
}

// news is one event of a watch.
type news struct {
	Type   string
	Object json.RawMessage
}

func (f *follower[T]) watch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, watchFor+longestRest)
	defer cancel()
	reply, err := f.client.do(ctx, http.MethodGet, f.path, f.query(url.Values{
		"watch": {"1"}, "resourceVersion": {f.version}, "allowWatchBookmarks": {"true"},
		"timeoutSeconds": {fmt.Sprint(int(watchFor.Seconds()))},
	}), "", nil)
	if err != nil {
		var refusal *Refusal
		if errors.As(err, &refusal) && refusal.Code == http.StatusGone {
			return errForgotten
		}
		return fmt.Errorf("watching: %w", err)
	}
	defer func() { _ = reply.Body.Close() }()
	events := json.NewDecoder(reply.Body)
	for {
		var n news
		switch err := events.Decode(&n); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("watching %s: %w", f.path, err)
		}
		if err := f.take(n); err != nil {
			return err
		}
	}
}

func (f *follower[T]) take(n news) error {
	if n.Type == "ERROR" {
		var status struct {
			Code    int
			Message string
		}
		_ = json.Unmarshal(n.Object, &status)
		if status.Code == http.StatusGone {
			return errForgotten
		}
		return fmt.Errorf("watching %s: %w", f.path, &Refusal{Code: status.Code, Message: status.Message})
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
		f.apply(Change[T]{One: one})
	case "DELETED":
		f.apply(Change[T]{One: one, Gone: true})
	}
	f.version = version.Metadata.ResourceVersion // a bookmark brings nothing else
	return nil
}
