package web

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"time"
)

const (
	// maxWatches bounds the number of concurrent watches.
	maxWatches = 64
	// minInterval is the shortest time between two events of a watch. A large state comes less often: on average a watch
	// sends at most maxRate bytes in a second. The state of a thousand jobs has 3.5 MB and changes all the time.
	minInterval = 500 * time.Millisecond
	maxRate     = 500_000
	// heartbeat is the interval between writes to an idle watch. With them the server detects a dead connection, and the page too: so they
	// are named events, as a browser hides comments from scripts.
	heartbeat = 15 * time.Second
	// writeTimeout bounds the write of one event.
	writeTimeout = 10 * time.Second
)

// eventStream serves the state as server-sent events (text/event-stream).
type eventStream struct {
	source Source
	// slots has one element per open watch.
	slots chan struct{}
}

func (s *eventStream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		w.Header().Set("Retry-After", "30")
		http.Error(w, fmt.Sprintf("%d clients watch already: try later, or read without watch=1", maxWatches),
			http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	if r.Method != http.MethodHead { // a stream without a body would not end
		s.follow(w, r)
	}
}

// follow writes the state whenever it differs from the last event, until the client disconnects or the server stops.
func (s *eventStream) follow(w http.ResponseWriter, r *http.Request) {
	var last []byte
	var lastWrite time.Time
	for {
		snapshot, changed := s.source.Snapshot()
		doc, err := encode(snapshot)
		if err != nil {
			return
		}
		var event []byte
		switch {
		case !bytes.Equal(doc, last):
			event = fmt.Appendf(nil, "data: %s\n\n", doc)
			last = doc
		case time.Since(lastWrite) >= heartbeat:
			event = []byte("event: heartbeat\ndata: still here\n\n")
		}
		if event != nil {
			if write(w, event) != nil {
				return
			}
			lastWrite = time.Now()
		}
		if !pause(r.Context(), pace(len(last)), changed) {
			return
		}
	}
}

// pace returns the time between two events of a state of a size, in bytes.
func pace(size int) time.Duration {
	return min(max(minInterval, time.Duration(size)*time.Second/maxRate), heartbeat)
}

// pause waits for an interval and then for a change or the heartbeat. It returns false if the client has disconnected.
func pause(ctx context.Context, interval time.Duration, changed <-chan struct{}) bool {
	select {
	case <-time.After(interval):
	case <-ctx.Done():
		return false
	}
	select {
	case <-changed:
	case <-time.After(heartbeat):
	case <-ctx.Done():
		return false
	}
	return true
}

func write(w http.ResponseWriter, event []byte) error {
	control := http.NewResponseController(w)
	if err := control.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	if _, err := w.Write(event); err != nil {
		return err
	}
	return control.Flush()
}
