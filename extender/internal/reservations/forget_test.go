package reservations_test

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/extender/internal/clustertest"
	"github.com/trellis-gpu/trellis/extender/internal/reservations"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/bus/membus"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// shelf is a node's books on a bus, with one GPU that matters and one that does not.
type shelf struct {
	*testing.T
	bus bus.Bus
	reservations.Ledger
}

func (s shelf) publish(gpus ...growth.GPU) {
	inventory := bus.NodeGPUs{Unit: growth.GiB}
	for _, g := range gpus {
		inventory.GPUs = append(inventory.GPUs, bus.GPU{UUID: g, Memory: 8 * growth.GiB, Healthy: true})
	}
	value, err := bus.Encode(inventory)
	require.NoError(s, err)
	_, err = s.bus.Put(s.Context(), bus.GPUsKey("n"), value, bus.Persistent)
	require.NoError(s, err)
}

func (s shelf) dies() { require.NoError(s, s.bus.Delete(s.Context(), bus.GPUsKey("n"))) }

func (s shelf) books() *reservations.Books {
	books, _, err := s.Read(s.Context(), "n")
	require.NoError(s, err)
	return books
}

// decides reads the books, and returns what writes the decision that was taken on them: 8 GiB of a GPU.
func (s shelf) decides(pod growth.PodUID, gpu growth.GPU) func() error {
	books, seen, err := s.Read(s.Context(), "n")
	require.NoError(s, err)
	on := reservations.Basis{Node: placement.NewNode("n", placement.Records{Inventory: *books.Inventory}), Seen: seen, Published: books.Published}
	return func() error {
		_, err := s.Reserve(s.Context(), on, bus.Reservation{Pod: growth.PodRef{UID: pod}, GPUs: []growth.GPUShare{{GPU: gpu, Memory: 8 * growth.GiB}}})
		return err
	}
}

// TestAnEpochGoesWithItsGPUAlone has somebody decide late: on books from before another one reserved the same GPU, served,
// and gave back. Without the epoch nothing would tell him.
func TestAnEpochGoesWithItsGPUAlone(t *testing.T) {
	for name, tc := range map[string]struct {
		// before is what happens until a sweep sees the books, meanwhile until it forgets, after that until the late one writes.
		before, meanwhile, after func(shelf)
		conflict                 bool
		want                     []growth.GPU
	}{
		"its node is gone":              {before: shelf.dies},
		"it is gone from its node":      {before: func(s shelf) { s.publish("h") }, want: []growth.GPU{"h"}},
		"its node is back just in time": {before: shelf.dies, meanwhile: func(s shelf) { s.publish("g", "h") }, conflict: true, want: []growth.GPU{"g", "h"}},
		"it is back just in time":       {before: func(s shelf) { s.publish("h") }, meanwhile: func(s shelf) { s.publish("g", "h") }, conflict: true, want: []growth.GPU{"g", "h"}},
		"its node is back afterwards":   {before: shelf.dies, after: func(s shelf) { s.publish("g", "h") }},
		"it is back afterwards":         {before: func(s shelf) { s.publish("h") }, after: func(s shelf) { s.publish("g", "h") }, want: []growth.GPU{"h"}},
		"an inventory from the future": {before: func(s shelf) {
			_, err := s.bus.Put(s.Context(), bus.GPUsKey("n"), []byte(`{"v":9}`), bus.Persistent)
			require.NoError(s, err)
		}, want: []growth.GPU{"g", "h"}},
	} {
		for on, open := range map[string]func(*testing.T) bus.Bus{
			"in memory": func(*testing.T) bus.Bus { return membus.New().Session() },
			"on etcd":   func(t *testing.T) bus.Bus { return clustertest.NewEtcd(t).Open() },
		} {
			t.Run(name+", "+on, func(t *testing.T) {
				b := open(t)
				s := shelf{t, b, reservations.Ledger{Bus: b, Unbalanced: func() { t.Error("unbalanced") }}}
				happens := func(what func(shelf)) {
					if what != nil {
						what(s)
					}
				}
				s.publish("g", "h")
				late := s.decides("late", "g")
				require.NoError(t, s.decides("served", "g")())
				require.NoError(t, s.decides("other", "h")())
				require.NoError(t, s.Release(t.Context(), "n", growth.PodRef{UID: "served"}, s.books().Reservations["served"].Revision))
				require.Empty(t, s.books().Gone())

				happens(tc.before)
				seen := s.books()
				happens(tc.meanwhile)
				for _, g := range seen.Gone() {
					err := s.Forget(t.Context(), "n", g, seen.Published)
					require.Equal(t, tc.conflict, errors.Is(err, bus.ErrConflict), "%v", err)
				}
				require.Equal(t, tc.want, slices.Sorted(maps.Keys(s.books().Epochs)))
				happens(tc.after)
				require.ErrorIs(t, late(), bus.ErrConflict)
			})
		}
	}
}
