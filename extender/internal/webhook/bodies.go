package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
)

// keep is the largest buffer that is kept for the next body: 15,000 names with their reasons fit.
const keep = 4 << 20

// bodies reads and writes long bodies. The zero value is ready.
type bodies struct {
	buffers sync.Pool
	last    atomic.Pointer[understood]
}

// understood is what bodies said lately. Kube-scheduler asks about the same nodes again and again, all of the cluster for
// filter and those with room for prioritize, and twice about each pod: once about each of the lists.
type understood struct {
	podText string
	pod     *corev1.Pod
	lists   []*nameList // the last one first
}

// args reads the body of filter and prioritize. Pod and names must not be changed.
func (b *bodies) args(r *http.Request) (candidates, error) {
	buffer := b.take()
	defer b.give(buffer)
	if r.ContentLength > 0 && r.ContentLength <= keep {
		buffer.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	if _, err := buffer.ReadFrom(r.Body); err != nil {
		return candidates{}, fmt.Errorf("reading the body: %w", err)
	}
	last := b.last.Load()
	if last == nil {
		last = &understood{}
	}
	p, ok := scan(buffer.Bytes(), last.lists)
	if !ok {
		return decodeArgs(bytes.NewReader(buffer.Bytes()))
	}
	asked := candidates{pod: last.pod, names: p.names.names}
	if last.pod != nil && string(p.pod) == last.podText && first(last.lists, p.names) {
		return asked, nil
	}
	next := &understood{podText: last.podText, pod: last.pod, lists: remembered(last.lists, p.names)}
	if last.pod == nil || string(p.pod) != last.podText {
		next.podText, next.pod = string(p.pod), nil
		if err := json.Unmarshal(p.pod, &next.pod); err != nil {
			return decodeArgs(bytes.NewReader(buffer.Bytes()))
		}
	}
	b.last.Store(next)
	asked.pod = next.pod
	return asked, nil
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
