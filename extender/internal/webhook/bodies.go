package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// keep is the largest buffer that is kept for the next body: 15,000 names with their reasons fit.
const keep = 4 << 20

// bodies reads and writes long bodies. The zero value is ready.
type bodies struct {
	buffers sync.Pool
	last    atomic.Pointer[understood]
}

// understood is a body and what it says. Where all nodes have room, prioritize asks in the words that filter asked in; where
// not, about the same pod.
type understood struct {
	body, podText string
	candidates
}

// args reads the body of filter and prioritize. The names are parts of one string; pod and names must not be changed.
func (b *bodies) args(r *http.Request) (candidates, error) {
	buffer := b.take()
	defer b.give(buffer)
	if _, err := buffer.ReadFrom(r.Body); err != nil {
		return candidates{}, fmt.Errorf("reading the body: %w", err)
	}
	read, last := buffer.Bytes(), b.last.Load()
	if last != nil && last.body == string(read) { // compared where they are
		return last.candidates, nil
	}
	body := string(read)
	p, ok := scan(body)
	if !ok {
		return decodeArgs(strings.NewReader(body))
	}
	next := &understood{body: body, podText: p.pod, candidates: candidates{names: p.names}}
	if last != nil && last.podText == p.pod {
		next.pod = last.pod
	} else if err := json.Unmarshal([]byte(p.pod), &next.pod); err != nil {
		return decodeArgs(strings.NewReader(body))
	}
	b.last.Store(next)
	return next.candidates, nil
}

// write sends a long answer. A scheduler that hangs up in the middle is no error of ours.
func (b *bodies) write(w http.ResponseWriter, answer text) {
	buffer := b.take()
	defer b.give(buffer)
	encoded := answer.appendJSON(buffer.AvailableBuffer())
	buffer.Write(encoded) // in place, unless it had to grow
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(encoded)))
	_, _ = w.Write(encoded)
}

func (b *bodies) take() *bytes.Buffer {
	if buffer, ok := b.buffers.Get().(*bytes.Buffer); ok {
		return buffer
	}
	return &bytes.Buffer{}
}

func (b *bodies) give(buffer *bytes.Buffer) {
	if buffer.Cap() <= keep {
		buffer.Reset()
		b.buffers.Put(buffer)
	}
}
