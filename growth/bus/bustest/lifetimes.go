package bustest

import (
	"testing"
	"time"

	"github.com/trellis-gpu/trellis/growth/bus"
)

func whileAlive(t *testing.T, h Harness) {
	survivor, dying, m := h.Open(t), h.Open(t), newMirror()
	put(t, survivor, "/n/stays", "1", bus.Ephemeral)
	put(t, dying, "/n/goes", "1", bus.Ephemeral)
	batches := survivor.Watch(t.Context(), "/n/")
	waitFor(t, batches, m, holds("/n/stays", "1", "/n/goes", "1"))
	if err := dying.Close(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, batches, m, holds("/n/stays", "1"))
}

func expires(t *testing.T, h Harness) {
	b, m := h.Open(t), newMirror()
	put(t, b, "/n/a", "1", bus.Lifetime{TTL: time.Second})
	batches := b.Watch(t.Context(), "/n/")
	waitFor(t, batches, m, holds("/n/a", "1"))
	h.Advance(2 * time.Second)
	waitFor(t, batches, m, holds())
}

func persistentAfterExpiring(t *testing.T, h Harness) {
	b := h.Open(t)
	put(t, b, "/n/short", "1", bus.Lifetime{TTL: time.Second})
	put(t, b, "/n/a", "1", bus.Lifetime{TTL: time.Second})
	put(t, b, "/n/a", "2", bus.Persistent)
	m := newMirror()
	batches := b.Watch(t.Context(), "/n/")
	h.Advance(2 * time.Second)
	waitFor(t, batches, m, holds("/n/a", "2"))
}
