package bus_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/bus"
)

var errInvalid = errors.New("invalid")

// strict returns a mirror that cannot decode the value "invalid".
func strict() *bus.Mirror[string] {
	return &bus.Mirror[string]{Decode: func(e bus.Entry) (string, error) {
		if string(e.Value) == "invalid" {
			return "", errInvalid
		}
		return string(e.Value), nil
	}}
}

func reset(revision bus.Revision, pairs ...string) bus.Batch {
	b := change(revision, pairs...)
	b.Reset = true
	return b
}

func change(revision bus.Revision, pairs ...string) bus.Batch {
	b := bus.Batch{Revision: revision}
	for i := 0; i < len(pairs); i += 2 {
		b.Entries = append(b.Entries, bus.Entry{Key: pairs[i], Value: []byte(pairs[i+1]), Revision: revision})
	}
	return b
}

func TestMirror_Apply(t *testing.T) {
	unavailable := bus.Batch{Err: bus.ErrUnavailable}
	for name, c := range map[string]struct {
		batches []bus.Batch
		want    bus.View[string]
	}{
		"no batch yet": {nil, bus.View[string]{}},
		"the first list sets Synced": {
			[]bus.Batch{reset(3, "a", "1")},
			bus.View[string]{Values: map[string]string{"a": "1"}, Undecodable: map[string]error{}, Revision: 3, Synced: true},
		},
		"changes and deletions are applied": {
			[]bus.Batch{reset(3, "a", "1", "b", "1"), change(4, "a", "2"), {Revision: 5, Deleted: []string{"b", "never"}}},
			bus.View[string]{Values: map[string]string{"a": "2"}, Undecodable: map[string]error{}, Revision: 5, Synced: true},
		},
		"a reset drops unlisted entries": {
			[]bus.Batch{reset(3, "a", "1", "b", "invalid"), reset(9, "c", "1")},
			bus.View[string]{Values: map[string]string{"c": "1"}, Undecodable: map[string]error{}, Revision: 9, Synced: true},
		},
		"an undecodable entry is listed as such": {
			[]bus.Batch{reset(3, "a", "invalid", "b", "1")},
			bus.View[string]{Values: map[string]string{"b": "1"}, Undecodable: map[string]error{"a": errInvalid}, Revision: 3, Synced: true},
		},
		"a value that becomes undecodable is dropped": {
			[]bus.Batch{reset(3, "a", "1"), change(4, "a", "invalid")},
			bus.View[string]{Values: map[string]string{}, Undecodable: map[string]error{"a": errInvalid}, Revision: 4, Synced: true},
		},
		"an undecodable entry becomes decodable": {
			[]bus.Batch{reset(3, "a", "invalid"), change(4, "a", "1")},
			bus.View[string]{Values: map[string]string{"a": "1"}, Undecodable: map[string]error{}, Revision: 4, Synced: true},
		},
		"an undecodable entry is deleted": {
			[]bus.Batch{reset(3, "a", "invalid"), {Revision: 4, Deleted: []string{"a"}}},
			bus.View[string]{Values: map[string]string{}, Undecodable: map[string]error{}, Revision: 4, Synced: true},
		},
		"an unavailable bus keeps the view": {
			[]bus.Batch{reset(3, "a", "1", "b", "invalid"), unavailable},
			bus.View[string]{
				Values: map[string]string{"a": "1"}, Undecodable: map[string]error{"b": errInvalid}, Revision: 3, Synced: true, Err: bus.ErrUnavailable,
			},
		},
		"a bus that is available again clears the error": {
			[]bus.Batch{reset(3, "a", "1"), unavailable, reset(7, "a", "2")},
			bus.View[string]{Values: map[string]string{"a": "2"}, Undecodable: map[string]error{}, Revision: 7, Synced: true},
		},
		"a bus that was never available is not synced": {
			[]bus.Batch{unavailable},
			bus.View[string]{Values: map[string]string{}, Undecodable: map[string]error{}, Err: bus.ErrUnavailable},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := strict()
			for _, b := range c.batches {
				require.Same(t, m.Apply(b), m.View())
			}
			require.Equal(t, &c.want, m.View())
		})
	}
}

func TestView_IsImmutable(t *testing.T) {
	m := strict()
	seen := m.Apply(reset(3, "a", "1", "b", "invalid"))
	m.Apply(change(4, "a", "2", "b", "2", "c", "invalid"))
	m.Apply(bus.Batch{Revision: 5, Deleted: []string{"a"}})
	require.Equal(t, &bus.View[string]{
		Values: map[string]string{"a": "1"}, Undecodable: map[string]error{"b": errInvalid}, Revision: 3, Synced: true,
	}, seen)
}
