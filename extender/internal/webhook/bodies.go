package webhook

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/extender/internal/fastpath"
	"github.com/trellis-gpu/trellis/extender/internal/scheduler"
)

// bodies reads and writes the bodies of filter and prioritize, which are long. The zero value is ready.
type bodies struct {
	buffers fastpath.Buffers
	args    fastpath.ArgsCache[corev1.Pod]
}

// read decodes the body of filter or prioritize. The pod and the names must not be changed.
func (b *bodies) read(r *http.Request) (nodeArgs, error) {
	buffer := b.buffers.Get(r.ContentLength + bytes.MinRead)
	defer b.buffers.Put(buffer)
	if _, err := buffer.ReadFrom(r.Body); err != nil {
		return nodeArgs{}, fmt.Errorf("reading the body: %w", err)
	}
	if args, ok := b.args.Decode(buffer.Bytes()); ok {
		return nodeArgs{pod: args.Pod, names: args.NodeNames}, nil
	}
	return decodeNodeArgs(bytes.NewReader(buffer.Bytes()))
}

// write sends a long answer. A scheduler that disconnects is no error.
func (b *bodies) write(w http.ResponseWriter, answer longAnswer) {
	buffer := b.buffers.Get(0)
	defer b.buffers.Put(buffer)
	encoded := answer.appendJSON(buffer.AvailableBuffer())
	buffer.Write(encoded) // keeps the memory, if encoded has outgrown it
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(encoded)))
	_, _ = w.Write(encoded)
}

// longAnswer is an answer with thousands of nodes. It encodes itself.
type longAnswer interface {
	appendJSON(to []byte) []byte
}

// filterNames is an ExtenderFilterResult with NodeNames.
type filterNames scheduler.FilterResult

func (f filterNames) appendJSON(to []byte) []byte {
	return fastpath.AppendFilterResult(to, f.Nodes, f.Statuses)
}

// priorities is a HostPriorityList.
type priorities scheduler.PrioritizeResult

func (p priorities) appendJSON(to []byte) []byte {
	return fastpath.AppendHostPriorities(to, p.Nodes, p.Points)
}
