package fastpath

import (
	"bytes"
	"sync"
)

// maxBuffer is the size of the largest buffer that is kept: 15,000 names with their reasons fit.
const maxBuffer = 4 << 20

// Buffers recycles the buffers of bodies. The zero value is ready.
type Buffers struct{ pool sync.Pool }

// Get returns an empty buffer with room for a number of bytes, if the pool keeps buffers of that size.
func (b *Buffers) Get(room int64) *bytes.Buffer {
	buffer, ok := b.pool.Get().(*bytes.Buffer)
	if !ok {
		buffer = &bytes.Buffer{}
	}
	if room > 0 && room <= maxBuffer {
		buffer.Grow(int(room))
	}
	return buffer
}

// Put takes a buffer back. The caller must not use it afterwards.
func (b *Buffers) Put(buffer *bytes.Buffer) {
	if buffer.Cap() <= maxBuffer {
		buffer.Reset()
		b.pool.Put(buffer)
	}
}
