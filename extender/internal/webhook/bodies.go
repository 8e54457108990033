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

	corev1 "k8s.io/api/core/v1"
)

// keep is the largest buffer that is kept for the next body: 15,000 names with their reasons fit.
const keep = 4 << 20

// bodies reads and writes long bodies. The zero value is ready.
type bodies struct {
	buffers sync.Pool
	// last is the pod that was asked about last: prioritize asks about the one that filter asked about.
	last atomic.Pointer[readPod]
}

type readPod struct {
	text string
	pod  *corev1.Pod
}

// args reads the body of filter and prioritize. The names are parts of one string, the pod must not be changed.
func (b *bodies) args(r *http.Request) (candidates, error) {
	buffer := b.take()
	defer b.give(buffer)
	if _, err := buffer.ReadFrom(r.Body); err != nil {
		return candidates{}, fmt.Errorf("reading the body: %w", err)
	}
	body := buffer.String()
	if p, ok := scan(body); ok {
		if pod, err := b.pod(p.pod); err == nil {
			return candidates{pod: pod, names: p.names}, nil
		}
	}
	return decodeArgs(strings.NewReader(body))
}

func (b *bodies) pod(text string) (*corev1.Pod, error) {
	if last := b.last.Load(); last != nil && last.text == text {
		return last.pod, nil
	}
	pod := &corev1.Pod{}
	if err := json.Unmarshal([]byte(text), pod); err != nil {
		return nil, err
	}
	b.last.Store(&readPod{strings.Clone(text), pod}) // not the whole body that the text is a part of
	return pod, nil
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
