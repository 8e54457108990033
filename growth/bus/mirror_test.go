package bus_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/bus"
)

var errRotten = errors.New("rotten")

// strict refuses the value "rotten".
func strict() *bus.Mirror[string] {
	return &bus.Mirror[string]{Decode: func(e bus.Entry) (string, error) {
		if string(e.Value) == "rotten" {
			return "", errRotten
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

func TestMirror(t *testing.T) {
	away := bus.Batch{Err: bus.ErrUnavailable}
	for name, c := range map[string]struct {
		batches []bus.Batch
		want    bus.View[string]
	}{
		"nothing yet": {nil, bus.View[string]{}},
		"the first list syncs": {
			[]bus.Batch{reset(3, "a", "1")},
			bus.View[string]{Values: map[string]string{"a": "1"}, Undecodable: map[string]error{}, Revision: 3, Synced: true},
		},
		"changes and deletions follow": {
			[]bus.Batch{reset(3, "a", "1", "b", "1"), change(4, "a", "2"), {Revision: 5, Deleted: []string{"b", "never"}}},
			bus.View[string]{Values: map[string]string{"a": "2"}, Undecodable: map[string]error{}, Revision: 5, Synced: true},
		},
		"a reset forgets what it does not list": {
			[]bus.Batch{reset(3, "a", "1", "b", "rotten"), reset(9, "c", "1")},
			bus.View[string]{Values: map[string]string{"c": "1"}, Undecodable: map[string]error{}, Revision: 9, Synced: true},
		},
		"what can not be read is kept out and counted": {
			[]bus.Batch{reset(3, "a", "rotten", "b", "1")},
			bus.View[string]{Values: map[string]string{"b": "1"}, Undecodable: map[string]error{"a": errRotten}, Revision: 3, Synced: true},
		},
		"a value that turns unreadable is not served any longer": {
			[]bus.Batch{reset(3, "a", "1"), change(4, "a", "rotten")},
			bus.View[string]{Values: map[string]string{}, Undecodable: map[string]error{"a": errRotten}, Revision: 4, Synced: true},
		},
		"a value that turns readable is no longer counted": {
			[]bus.Batch{reset(3, "a", "rotten"), change(4, "a", "1")},
			bus.View[string]{Values: map[string]string{"a": "1"}, Undecodable: map[string]error{}, Revision: 4, Synced: true},
		},
		"a refused entry that is deleted is no longer counted": {
			[]bus.Batch{reset(3, "a", "rotten"), {Revision: 4, Deleted: []string{"a"}}},
			bus.View[string]{Values: map[string]string{}, Undecodable: map[string]error{}, Revision: 4, Synced: true},
		},
		"a bus that is away ages the view and keeps it": {
			[]bus.Batch{reset(3, "a", "1", "b", "rotten"), away},
			bus.View[string]{
				Values: map[string]string{"a": "1"}, Undecodable: map[string]error{"b": errRotten}, Revision: 3, Synced: true, Err: bus.ErrUnavailable,
			},
		},
		"a bus that comes back is fresh": {
			[]bus.Batch{reset(3, "a", "1"), away, reset(7, "a", "2")},
			bus.View[string]{Values: map[string]string{"a": "2"}, Undecodable: map[string]error{}, Revision: 7, Synced: true},
		},
		"a bus that was never there is not synced": {
			[]bus.Batch{away},
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

func TestAViewOnceSeenNeverChanges(t *testing.T) {
	m := strict()
	seen := m.Apply(reset(3, "a", "1", "b", "rotten"))
	m.Apply(change(4, "a", "2", "b", "2", "c", "rotten"))
	m.Apply(bus.Batch{Revision: 5, Deleted: []string{"a"}})
	require.Equal(t, &bus.View[string]{
		Values: map[string]string{"a": "1"}, Undecodable: map[string]error{"b": errRotten}, Revision: 3, Synced: true,
	}, seen)
}
